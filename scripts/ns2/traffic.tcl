# Transfers that come and go on a dumbbell of nine pairs, in ns-2: draft-irtf-iccrg-tcpeval-01 section 4.1.
# scripts/ns2_traffic.py runs it, and simulates the same with Windlass:
#
#   ns traffic.tcl EDGE-RATE DOWN-RATE UP-RATE DELAY DOWN-BYTES UP-BYTES FROM END ARRIVALS [TRANSFERS]
#
# Rates in bit/s, delay and times in s, buffers of the central link in bytes. Down is from right to left. A line of
# ARRIVALS has a time in s, the names of two nodes and a number of packets. Prints one JSON object; means are over the
# time from FROM to END, drops over all of it. TRANSFERS, if named, gets a line for each transfer that has arrived.

lassign $argv edge_rate down_rate up_rate delay down_bytes up_bytes steady_from end arrivals transfers

remove-all-packet-headers
add-packet-header IP TCP Flags

# ns-2.35 has other defaults for these. packetSize_ is the size on the wire, and there is no handshake.
Agent/TCP set packetSize_ 1500
Agent/TCP set useHeaders_ false
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set window_ 1000
Agent/TCP set singledup_ 0
Agent/TCP set precisionReduce_ false
Agent/TCP set slow_start_restart_ false
# These are its defaults, which the scenario for Windlass has too.
Agent/TCP set windowInit_ 2
Agent/TCP set tcpTick_ 0.01
Agent/TCP set minrto_ 0.2
Agent/TCP set maxrto_ 60
Agent/TCP set rtxcur_init_ 3.0
Agent/TCP set timestamps_ false
Agent/TCPSink set packetSize_ 40

set never_full 1000000

# A link in one direction; with a limit its FIFO holds so many bytes, the packet in transmission not included.
proc one_way {from to rate delay {limit_bytes 0}} {
    global sim never_full
    $sim simplex-link $from $to $rate $delay DropTail
    if {!$limit_bytes} {
        $sim queue-limit $from $to $never_full
        return
    }
    # DropTail drops a packet that fills the queue to its limit.
    set queue [[$sim link $from $to] queue]
    $queue set queue_in_bytes_ true
    $queue set mean_pktsize_ [expr {$limit_bytes + 1}]
    $sim queue-limit $from $to 1
}

# Both directions of an edge link.
proc edge {name router delay} {
    global sim node edge_rate
    set node($name) [$sim node]
    one_way $node($name) $node($router) $edge_rate $delay
    one_way $node($router) $node($name) $edge_rate $delay
}

# A monitor of the queue of a central link, which measures waiting times too.
proc watch {from to} {
    global sim node
    set monitor [$sim monitor-queue $node($from) $node($to) ""]
    $monitor set-delay-samples [new Samples]
    return $monitor
}

# The application at a receiver: gets the bytes that have arrived in order.
Class Application/Arrival -superclass Application

Application/Arrival instproc recv {bytes} {
    $self instvar missing begun direction packets
    incr missing -$bytes
    if {$missing <= 0} { arrived $direction $begun $packets }
}

# Counts a transfer whose last packet has arrived.
proc arrived {direction begun packets} {
    global sim steady_from seconds completed unfinished log
    set took [expr {[$sim now] - $begun}]
    if {$begun >= $steady_from} {
        set seconds($direction) [expr {$seconds($direction) + $took}]
        incr completed($direction)
        incr unfinished($direction) -1
    }
    if {$log ne ""} { puts $log "$begun $direction $packets $took" }
}

# The last ACK has arrived. To make agents takes most of the time, so they are used again: those that have sent each
# packet once, of which nothing is under way. A reset leaves some of the state of the others as it is.
Agent/TCP instproc done {} {
    global parts idle
    if {[$self set nrexmitpack_]} return
    lassign $parts($self) from to receiver
    $self reset
    $receiver reset
    lappend idle($from,$to) $self
}

# A sender between two nodes that has nothing to do.
proc sender_between {from to} {
    global sim node parts idle
    if {[info exists idle($from,$to)] && [llength $idle($from,$to)]} {
        set sender [lindex $idle($from,$to) end]
        set idle($from,$to) [lrange $idle($from,$to) 0 end-1]
        return $sender
    }
    set sender [new Agent/TCP/Reno]
    set receiver [new Agent/TCPSink]
    set application [new Application/Arrival]
    $sim attach-agent $node($from) $sender
    $sim attach-agent $node($to) $receiver
    $sim connect $sender $receiver
    $application attach-agent $receiver
    # Makes it take what arrives.
    $application start
    set parts($sender) [list $from $to $receiver $application]
    return $sender
}

# A transfer of so many packets begins.
proc begin {from to packets} {
    global sim steady_from unfinished parts
    set sender [sender_between $from $to]
    set application [lindex $parts($sender) 3]
    set direction [expr {$from in {n1 n2 n3} ? "up" : "down"}]
    $application set direction $direction
    $application set begun [$sim now]
    $application set packets $packets
    $application set missing [expr {$packets * [$sender set packetSize_]}]
    if {[$sim now] >= $steady_from} { incr unfinished($direction) }
    $sender advance $packets
}

# Waits for the next line of the arrivals.
proc next_arrival {} {
    global sim file
    if {[gets $file line] < 0} return
    lassign $line time from to packets
    $sim at $time "begin $from $to $packets; next_arrival"
}

# Sums of a queue until now: bytes that have left, packets that have, and the seconds that they had waited.
proc sums {monitor} {
    set waits [$monitor get-delay-samples]
    set left [$waits cnt]
    return [list [$monitor set bdepartures_] $left [expr {$left ? $left * [$waits mean] : 0.0}]]
}

proc steady_begins {} {
    global monitors before
    foreach direction {down up} { set before($direction) [sums $monitors($direction)] }
}

# The figures of a direction as a JSON object.
proc figures {direction rate} {
    global monitors before steady_from end seconds completed unfinished
    lassign $before($direction) bytes0 packets0 waited0
    lassign [sums $monitors($direction)] bytes packets waited
    return [format {{"utilisation": %.8f, "queue_delay_ms": %.6f, "drops": %.0f, "arrived": %.0f,\
"completion_ms": %.6f, "completed": %d, "open": %d}} \
        [expr {8.0 * ($bytes - $bytes0) / ($rate * ($end - $steady_from))}] \
        [expr {1000.0 * ($waited - $waited0) / max(1, $packets - $packets0)}] \
        [$monitors($direction) set pdrops_] [$monitors($direction) set parrivals_] \
        [expr {1000.0 * $seconds($direction) / max(1, $completed($direction))}] \
        $completed($direction) $unfinished($direction)]
}

proc finish {} {
    global down_rate up_rate log
    puts "{\"down\": [figures down $down_rate], \"up\": [figures up $up_rate]}"
    if {$log ne ""} { close $log }
    exit 0
}

set sim [new Simulator]
set log [expr {$transfers eq "" ? "" : [open $transfers w]}]
foreach direction {down up} {
    set seconds($direction) 0.0
    set completed($direction) 0
    set unfinished($direction) 0
}
set node(r1) [$sim node]
set node(r2) [$sim node]
one_way $node(r2) $node(r1) $down_rate $delay $down_bytes
one_way $node(r1) $node(r2) $up_rate $delay $up_bytes
foreach {name router edge_delay} {n1 r1 0ms n2 r1 12ms n3 r1 25ms n4 r2 2ms n5 r2 37ms n6 r2 75ms} {
    edge $name $router $edge_delay
}
array set monitors [list down [watch r2 r1] up [watch r1 r2]]
set file [open $arrivals]
next_arrival
$sim at $steady_from steady_begins
$sim at $end finish
$sim run
