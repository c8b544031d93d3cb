# The wide case with a host for each receiver as well.
set receiver_hosts yes
source [file join [file dirname [info script]] wide.tcl]
