# The part that all cases share: the settings of the TCP agents and the queue, a dumbbell, one bulk flow
# a sender, and the figures printed at the end. Arguments: the duration in seconds, and a folder for
# traces of cwnd; without them the case's own duration, and no traces. Before them may stand
# "all-headers".
# ns-2.35 changed many defaults since the version that the New-ECN paper used; each that matters
# is set here, so that the case does not depend on them.

# With "all-headers" each packet has room for the headers of all protocols that ns-2 knows, which is
# its default; without, for those in use alone: packets are smaller, and ns-2 faster.
if {[lindex $argv 0] eq "all-headers"} {
    set argv [lrange $argv 1 end]
} else {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}

# How long to simulate, in seconds: the first argument, or the case's own duration.
proc duration {default_s} {
    global argv
    return [expr {[llength $argv] > 0 ? [lindex $argv 0] : $default_s}]
}

# Traces cwnd_ of a sender, a line for each change, to a file of its own in the folder that is the
# second argument; without one there are no traces.
proc trace_cwnd {sender} {
    global argv senders traces
    if {[llength $argv] < 2} return
    set trace [open [file join [lindex $argv 1] cwnd-[llength $senders].tr] w]
    $sender attach $trace
    $sender trace cwnd_
    lappend traces $trace
}

set traces {}

# The sender: classic Reno with ECN and a coarse clock.
Agent/TCP set ecn_ 1
Agent/TCP set tcpTick_ 0.01
Agent/TCP set minrto_ 0
Agent/TCP set maxrto_ 64
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set windowInit_ 1
Agent/TCP set singledup_ 0
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set overhead_ 0
Agent/TCP set precisionReduce_ false
Agent/TCP set slow_start_restart_ false
Agent/TCP set timestamps_ false
Agent/TCP set SetCWRonRetransmit_ true
# packetSize_ is then the size on the wire, headers and all.
Agent/TCP set useHeaders_ false

# RED counts packets, marks below its upper threshold and drops everything above it.
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 500
Queue/RED set idle_pktsize_ 500
Queue/RED set setbit_ true
Queue/RED set use_mark_p_ false
Queue/RED set gentle_ false
Queue/RED set adaptive_ 0
Queue/RED set wait_ true

# Two routers: RED from left to right, a FIFO that never fills on the way back.
# red is a list of settings, e.g. {thresh_ 10 maxthresh_ 20}.
proc bottleneck {sim rate delay limit red} {
    global left right
    foreach {name value} $red { Queue/RED set $name $value }
    set left [$sim node]
    set right [$sim node]
    $sim simplex-link $left $right $rate $delay RED
    $sim simplex-link $right $left $rate $delay DropTail
    $sim queue-limit $left $right $limit
    $sim queue-limit $right $left 100000
}

# Where a receiver sits: on the right router, or if receiver_hosts is set, on a host of its own
# behind a link without delay.
proc receiver_node {sim rate} {
    global right receiver_hosts
    if {![info exists receiver_hosts]} { return $right }
    set host [$sim node]
    $sim duplex-link $right $host $rate 0ms DropTail
    $sim queue-limit $right $host 100000
    $sim queue-limit $host $right 100000
    return $host
}

# One bulk flow, its sender behind an access link of its own.
proc bulk_flow {sim rate delay start packet_bytes window} {
    global left senders
    set host [$sim node]
    $sim duplex-link $host $left $rate $delay DropTail
    $sim queue-limit $host $left 100000
    $sim queue-limit $left $host 100000

    set sender [new Agent/TCP/Reno]
    $sender set packetSize_ $packet_bytes
    $sender set window_ $window
    set receiver [new Agent/TCPSink]
    $sim attach-agent $host $sender
    $sim attach-agent [receiver_node $sim $rate] $receiver
    $sim connect $sender $receiver

    set source [new Application/FTP]
    $source attach-agent $sender
    $sim at $start "$source start"
    lappend senders $sender
    trace_cwnd $sender
}

# Prints one JSON object and ends. A flow has delivered what its receiver has acknowledged
# in order; ack_ is the number of the last such packet, counted from zero.
proc finish {seconds} {
    global senders traces
    set total 0
    set squares 0.0
    set flows {}
    foreach sender $senders {
        set delivered [expr {[$sender set ack_] + 1}]
        incr total $delivered
        set squares [expr {$squares + double($delivered) * $delivered}]
        lappend flows [format {{"delivered_segments": %d, "packets_per_s": %.2f}} \
            $delivered [expr {$delivered / double($seconds)}]]
    }
    set fairness [expr {double($total) * $total / ([llength $senders] * $squares)}]
    puts [format {{"delivered_segments": %d, "fairness_index": %.3f, "flows": [%s]}} \
        $total $fairness [join $flows ", "]]
    foreach trace $traces { close $trace }
    exit 0
}
