# CUBIC beside Reno: 10 Mbit/s, a round trip of 40 ms, a queue of 50 packets, a minute.
set sim [new Simulator]
set left [$sim node]
set right [$sim node]
$sim duplex-link $left $right 10Mb 19ms DropTail
$sim queue-limit $left $right 50
foreach controller {cubic reno} {
    set host [$sim node]
    $sim duplex-link $host $left 1Gb 1ms DropTail
    set tcp [new Agent/TCP/Linux]
    $tcp set window_ 10000
    $tcp set packetSize_ 1460
    set sink($controller) [new Agent/TCPSink/Sack1]
    $sim attach-agent $host $tcp
    $sim attach-agent $right $sink($controller)
    $sim connect $tcp $sink($controller)
    $sim at 0 "$tcp select_ca $controller"
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $sim at 0 "$ftp start"
}
proc finish {} {
    global sink
    foreach controller {cubic reno} {
        puts "$controller [expr {[$sink($controller) set bytes_] * 8 / 60e6}] Mbit/s"
    }
    exit 0
}
$sim at 60 finish
$sim run
