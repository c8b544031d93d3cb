# The small case: 4 Reno flows with ECN and RTTs of 190, 70, 30 and 4 ms share 10 Mbit/s, 60 s.
# The topology and start times are those of the New-ECN paper, section 4.2.1, setup 1.
source [file join [file dirname [info script]] dumbbell.tcl]

set seconds [duration 60]
set sim [new Simulator]
bottleneck $sim 10Mb 1ms 500 {thresh_ 10 maxthresh_ 20 q_weight_ 0.002 linterm_ 10}
# The bottleneck and back are 2 ms of each RTT.
foreach {rtt_ms start_s} {4 1.5  30 1.0  70 0.5  190 0.0} {
    bulk_flow $sim 10Mb [expr {($rtt_ms - 2) / 2.0}]ms $start_s 512 128
}
$sim at $seconds "finish $seconds"
$sim run
