# The wide case: the big case ten times as wide. 1,000 Reno flows with ECN and RTTs from 10 to
# 200 ms share 10 Gbit/s, 2 s.
source [file join [file dirname [info script]] dumbbell.tcl]

set seconds [duration 2]
set flows 1000
set sim [new Simulator]
bottleneck $sim 10Gb 1ms 180000 {thresh_ 3700 maxthresh_ 7400 q_weight_ 5e-5 linterm_ 10}
for {set i 0} {$i < $flows} {incr i} {
    set rtt_ms [expr {10 + 190.0 * $i / ($flows - 1)}]
    # Starts 1 ms apart: all within the first second, as in the big case.
    bulk_flow $sim 1Gb [expr {($rtt_ms - 2) / 2.0}]ms [expr {0.001 * $i}] 1500 1000
}
$sim at $seconds "finish $seconds"
$sim run
