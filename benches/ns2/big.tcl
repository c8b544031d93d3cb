# The big case: 100 Reno flows with ECN and RTTs from 10 to 200 ms share 1 Gbit/s, 10 s.
source [file join [file dirname [info script]] dumbbell.tcl]

set seconds [duration 10]
set flows 100
set sim [new Simulator]
bottleneck $sim 1Gb 1ms 18000 {thresh_ 370 maxthresh_ 740 q_weight_ 5e-5 linterm_ 10}
for {set i 0} {$i < $flows} {incr i} {
    set rtt_ms [expr {10 + 190.0 * $i / ($flows - 1)}]
    # Starts 10 ms apart: 100 slow starts in step would be a case of their own.
    bulk_flow $sim 1Gb [expr {($rtt_ms - 2) / 2.0}]ms [expr {0.01 * $i}] 1500 1000
}
$sim at $seconds "finish $seconds"
$sim run
