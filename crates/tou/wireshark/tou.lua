-- Dissector of ToU, TCP over UDP (docs/reference/tou-protocol.md), for Wireshark and tshark. Tested
-- with version 4.0.
--
--   tshark -X lua_script:tou.lua -r capture.pcapng
--
-- or copy it to the folder of personal Lua plugins (Help, About Wireshark, Folders).
--
-- Fields have the names of TCP's fields with "tou" instead of "tcp", as in tou.flags.syn == 1.
-- ToU has no assigned port. The dissector recognizes its datagrams by their cookie.

local COOKIE = 0x7194B32E
local MIN_HEADER_LEN = 16

local tou = Proto("tou", "TCP over UDP (ToU)")

tou.prefs.ports = Pref.range("UDP ports", "7000",
    "Ports on which to look for ToU before the protocols that Wireshark knows on them. "
    .. "On other ports those come first, unless UDP tries heuristic dissectors first.", 65535)
tou.prefs.relative = Pref.bool("Relative sequence numbers", true,
    "Numbers begin at 0, where the SYN of that direction was captured")

local f = {
    seq = ProtoField.uint32("tou.seq", "Sequence Number"),
    seq_raw = ProtoField.uint32("tou.seq_raw", "Sequence Number (raw)"),
    cookie = ProtoField.uint32("tou.cookie", "Magic Cookie", base.HEX),
    ack = ProtoField.uint32("tou.ack", "Acknowledgment Number"),
    ack_raw = ProtoField.uint32("tou.ack_raw", "Acknowledgment Number (raw)"),
    hdr_len = ProtoField.uint8("tou.hdr_len", "Header Length"),
    reserved = ProtoField.uint8("tou.reserved", "Reserved", base.HEX, nil, 0x0f),
    flags = ProtoField.uint8("tou.flags", "Flags", base.HEX),
    window_raw = ProtoField.uint16("tou.window_size_value", "Window"),
    window = ProtoField.uint32("tou.window_size", "Calculated window size"),
    shift = ProtoField.int8("tou.window_size_shift", "Window shift (-1: unknown)"),
    options = ProtoField.bytes("tou.options", "Options"),
    option_kind = ProtoField.uint8("tou.option_kind", "Kind"),
    option_len = ProtoField.uint8("tou.option_len", "Length"),
    mss = ProtoField.uint16("tou.options.mss_val", "MSS"),
    wscale = ProtoField.uint8("tou.options.wscale.shift", "Window shift"),
    sack_perm = ProtoField.none("tou.options.sack_perm", "SACK permitted"),
    sack_le = ProtoField.uint32("tou.options.sack_le", "Left edge"),
    sack_re = ProtoField.uint32("tou.options.sack_re", "Right edge"),
    sack_count = ProtoField.uint8("tou.options.sack.count", "SACK blocks"),
    tsval = ProtoField.uint32("tou.options.timestamp.tsval", "Timestamp value"),
    tsecr = ProtoField.uint32("tou.options.timestamp.tsecr", "Timestamp echo reply"),
    acc_ecn_flags = ProtoField.uint8("tou.options.acc_ecn.flags", "AE, CWR, ECE", base.DEC, nil, 0x07),
    acc_ecn_ee0b = ProtoField.uint24("tou.options.acc_ecn.ee0b", "ECT(0) bytes"),
    acc_ecn_eceb = ProtoField.uint24("tou.options.acc_ecn.eceb", "CE bytes"),
    acc_ecn_ee1b = ProtoField.uint24("tou.options.acc_ecn.ee1b", "ECT(1) bytes"),
    len = ProtoField.uint32("tou.len", "Segment Len"),
    segments = ProtoField.uint32("tou.segments", "Segments in this datagram"),
    payload = ProtoField.bytes("tou.payload", "Payload"),
}

-- From the most significant bit to the least significant.
local FLAGS = {
    { "ae", "Accurate ECN", 0x80, "AE" },
    { "cwr", "Congestion Window Reduced", 0x40, "CWR" },
    { "ece", "ECN-Echo", 0x20, "ECE" },
    { "ack", "Acknowledgment", 0x10, "ACK" },
    { "push", "Push", 0x08, "PSH" },
    { "reset", "Reset", 0x04, "RST" },
    { "syn", "Syn", 0x02, "SYN" },
    { "fin", "Fin", 0x01, "FIN" },
}
for _, flag in ipairs(FLAGS) do
    f["flag_" .. flag[1]] = ProtoField.bool("tou.flags." .. flag[1], flag[2], 8, nil, flag[3])
end
tou.fields = f

local e = {
    version = ProtoExpert.new("tou.reserved.set", "Reserved bits are set: not this version of ToU",
        expert.group.PROTOCOL, expert.severity.WARN),
    header = ProtoExpert.new("tou.hdr_len.bogus", "Bad header length",
        expert.group.MALFORMED, expert.severity.ERROR),
    option = ProtoExpert.new("tou.options.bogus", "An option has an impossible length",
        expert.group.MALFORMED, expert.severity.ERROR),
    option_len = ProtoExpert.new("tou.options.len_unknown",
        "An option of this kind has another length; receivers skip it",
        expert.group.PROTOCOL, expert.severity.WARN),
    cut = ProtoExpert.new("tou.cut", "The capture does not have all of the header",
        expert.group.UNDECODED, expert.severity.NOTE),
    reset = ProtoExpert.new("tou.connection.rst", "Connection reset",
        expert.group.SEQUENCE, expert.severity.WARN),
}
tou.experts = e

-- The initial sequence number and window shift of each direction, learned from earlier frames.
-- Wireshark dissects a frame again when it is selected or filtered, after later frames. Therefore the
-- values used for a frame are stored with its number.
local directions, frames = {}, {}

function tou.init()
    directions, frames = {}, {}
end

local function bit_is_set(flags, mask)
    return flags % (2 * mask) >= mask
end

local function names_of(pinfo)
    local from = tostring(pinfo.src) .. " " .. pinfo.src_port
    local to = tostring(pinfo.dst) .. " " .. pinfo.dst_port
    return from .. " " .. to, to .. " " .. from
end

-- The known values of both directions. A SYN replaces them.
local function context_of(pinfo, header)
    local known = frames[pinfo.number]
    if known then return known end
    local ours, theirs = names_of(pinfo)
    if header.syn then
        local new = not directions[ours] or directions[ours].isn ~= header.seq
        if new and not header.has_ack then directions[theirs] = nil end
        directions[ours] = { isn = header.seq, shift = header.shift or -1 }
    end
    local mine, other = directions[ours], directions[theirs]
    known = { isn = mine and mine.isn, other_isn = other and other.isn }
    if mine and other then
        -- A shift holds if both ends have one (RFC 7323 section 2.2).
        local both = mine.shift >= 0 and other.shift >= 0
        known.shift = both and math.min(mine.shift, 14) or 0
    end
    frames[pinfo.number] = known
    return known
end

local function relative(number, isn)
    if not isn or not tou.prefs.relative then return number end
    return (number - isn) % 2 ^ 32
end

-- The options between the fixed header and the payload: a list of { kind, at, len }, and the offset of
-- the first malformed one.
local function list_options(tvb, at, stop)
    local list = {}
    while at < stop do
        local kind = tvb(at, 1):uint()
        if kind == 0 then
            list[#list + 1] = { kind = 0, at = at, len = 1 }
            return list
        elseif kind == 1 then
            list[#list + 1] = { kind = 1, at = at, len = 1 }
            at = at + 1
        else
            local len = at + 1 < stop and tvb(at + 1, 1):uint() or 0
            if len < 2 or at + len > stop then return list, at end
            list[#list + 1] = { kind = kind, at = at, len = len }
            at = at + len
        end
    end
    return list
end

local OPTIONS = {
    [0] = { name = "End of options" },
    [1] = { name = "No-operation" },
    [2] = { name = "Maximum segment size", len = 4 },
    [3] = { name = "Window scale", len = 3 },
    [4] = { name = "SACK permitted", len = 2 },
    [5] = { name = "SACK" },
    [8] = { name = "Timestamps", len = 10 },
    [172] = { name = "AccECN counters, ECT(0) first" },
    [174] = { name = "AccECN counters, ECT(1) first" },
}

-- The fields of the options 172 and 174 (RFC 9768 section 3.2.3), of 24 bits each.
local COUNTERS = {
    [172] = { f.acc_ecn_ee0b, f.acc_ecn_eceb, f.acc_ecn_ee1b },
    [174] = { f.acc_ecn_ee1b, f.acc_ecn_eceb, f.acc_ecn_ee0b },
}

-- Whether an option is the one by which a SYN asks for AccECN, and a SYN-ACK agrees.
local function is_acc_ecn(tvb, option)
    return option.kind == 253 and option.len == 7 and tvb(option.at + 2, 4):uint() == 0x546F5541
end

local function has_right_len(option)
    local known = OPTIONS[option.kind]
    if option.kind == 5 then return option.len > 2 and (option.len - 2) % 8 == 0 end
    return not known or not known.len or option.len == known.len
end

local function add_sack(tvb, item, option, context)
    local count = (option.len - 2) / 8
    item:add(f.sack_count, count):set_generated()
    for block = 0, count - 1 do
        local at = option.at + 2 + 8 * block
        local left, right = tvb(at, 4), tvb(at + 4, 4)
        item:add(f.sack_le, left, relative(left:uint(), context.other_isn))
        item:add(f.sack_re, right, relative(right:uint(), context.other_isn))
    end
end

-- The text of each option in the info column.
local SHORT = {
    [2] = function(tvb, at) return "MSS=" .. tvb(at + 2, 2):uint() end,
    [3] = function(tvb, at) return ("WS=%.0f"):format(2 ^ math.min(tvb(at + 2, 1):uint(), 14)) end,
    [4] = function() return "SACK_PERM" end,
    [5] = function(tvb, at, context)
        local blocks = {}
        for block = at + 2, at + tvb(at + 1, 1):uint() - 8, 8 do
            local left = relative(tvb(block, 4):uint(), context.other_isn)
            local right = relative(tvb(block + 4, 4):uint(), context.other_isn)
            blocks[#blocks + 1] = ("SLE=%.0f SRE=%.0f"):format(left, right)
        end
        return table.concat(blocks, " ")
    end,
    [8] = function(tvb, at)
        return "TSval=" .. tvb(at + 2, 4):uint() .. " TSecr=" .. tvb(at + 6, 4):uint()
    end,
}

local function add_counters(tvb, item, option)
    for index, field in ipairs(COUNTERS[option.kind]) do
        if 2 + 3 * index <= option.len then item:add(field, tvb(option.at - 1 + 3 * index, 3)) end
    end
end

local function add_option(tvb, tree, option, context)
    local known = OPTIONS[option.kind]
    local name = known and known.name or ("Unknown option " .. option.kind)
    local item = tree:add(tvb(option.at, option.len), name)
    item:add(f.option_kind, tvb(option.at, 1))
    if option.len > 1 then item:add(f.option_len, tvb(option.at + 1, 1)) end
    if not has_right_len(option) then
        item:add_proto_expert_info(e.option_len)
    elseif option.kind == 2 then
        item:add(f.mss, tvb(option.at + 2, 2))
    elseif option.kind == 3 then
        item:add(f.wscale, tvb(option.at + 2, 1))
    elseif option.kind == 4 then
        item:add(f.sack_perm, tvb(option.at, 2))
    elseif option.kind == 5 then
        add_sack(tvb, item, option, context)
    elseif option.kind == 8 then
        item:add(f.tsval, tvb(option.at + 2, 4))
        item:add(f.tsecr, tvb(option.at + 6, 4))
    elseif COUNTERS[option.kind] then
        add_counters(tvb, item, option)
    elseif is_acc_ecn(tvb, option) then
        item:set_text("AccECN")
        item:add(f.acc_ecn_flags, tvb(option.at + 6, 1))
    end
end

local function add_options(tvb, tree, header, context)
    if not header.payload_len or header.len == MIN_HEADER_LEN then return end
    local range = tvb(MIN_HEADER_LEN, header.len - MIN_HEADER_LEN)
    local item = tree:add(f.options, range)
    item:set_text("Options: " .. range:len() .. " bytes")
    for _, option in ipairs(header.options) do
        add_option(tvb, item, option, context)
    end
    if header.bogus_option then
        item:add_proto_expert_info(e.option)
    end
end

-- Reads the fixed fields and the options that were captured.
local function read_header(tvb)
    local flags = tvb(13, 1):uint()
    local header = {
        seq = tvb(0, 4):uint(), ack = tvb(8, 4):uint(), flags = flags, window = tvb(14, 2):uint(),
        len = 4 * tvb(12, 1):bitfield(0, 4), reserved = tvb(12, 1):bitfield(4, 4),
        has_ack = bit_is_set(flags, 0x10), syn = bit_is_set(flags, 0x02),
        reset = bit_is_set(flags, 0x04), options = {},
    }
    header.short = header.len < MIN_HEADER_LEN or header.len > tvb:reported_len()
    header.cut = not header.short and header.len > tvb:captured_len()
    if header.short or header.cut then return header end
    header.payload_len = tvb:reported_len() - header.len
    header.options, header.bogus_option = list_options(tvb, MIN_HEADER_LEN, header.len)
    for _, option in ipairs(header.options) do
        if option.kind == 3 and option.len == 3 then header.shift = tvb(option.at + 2, 1):uint() end
    end
    return header
end

local function flag_names(flags)
    local names = {}
    for index = #FLAGS, 1, -1 do
        if bit_is_set(flags, FLAGS[index][3]) then names[#names + 1] = FLAGS[index][4] end
    end
    return #names > 0 and table.concat(names, ", ") or "<None>"
end

local function scaled_window(header, context)
    -- The window of a SYN is never scaled (RFC 7323 section 2.2).
    local shift = not header.syn and context.shift or 0
    return header.window * 2 ^ shift
end

local function info_of(tvb, pinfo, header, context)
    local seq = relative(header.seq, context.isn)
    local info = ("%d → %d [%s] Seq=%.0f"):format(
        pinfo.src_port, pinfo.dst_port, flag_names(header.flags), seq)
    if header.has_ack then
        info = info .. (" Ack=%.0f"):format(relative(header.ack, context.other_isn))
    end
    info = info .. (" Win=%.0f"):format(scaled_window(header, context))
    if header.payload_len then info = info .. " Len=" .. header.payload_len end
    for _, option in ipairs(header.options) do
        local short = SHORT[option.kind]
        if short and has_right_len(option) then 
            info = info .. " " .. short(tvb, option.at, context)
        end
    end
    return info
end

local function add_flags(tvb, tree, header)
    local range = tvb(13, 1)
    local item = tree:add(f.flags, range)
    item:append_text(" (" .. flag_names(header.flags) .. ")")
    for _, flag in ipairs(FLAGS) do
        item:add(f["flag_" .. flag[1]], range)
    end
    if header.reserved ~= 0 or (header.syn and header.flags >= 0x80) then
        item:add_proto_expert_info(e.version)
    end
    if header.reset then
        item:add_proto_expert_info(e.reset)
    end
end

local function add_header(tvb, tree, header, context)
    tree:add(f.seq, tvb(0, 4), relative(header.seq, context.isn))
    tree:add(f.seq_raw, tvb(0, 4))
    tree:add(f.cookie, tvb(4, 4))
    local ack = header.has_ack and relative(header.ack, context.other_isn) or header.ack
    tree:add(f.ack, tvb(8, 4), ack)
    tree:add(f.ack_raw, tvb(8, 4))
    local item = tree:add(f.hdr_len, tvb(12, 1), header.len)
    item:append_text(" bytes")
    if header.short then
        item:add_proto_expert_info(e.header)
    elseif header.cut then
        item:add_proto_expert_info(e.cut)
    end
    tree:add(f.reserved, tvb(12, 1))
    add_flags(tvb, tree, header)
    tree:add(f.window_raw, tvb(14, 2))
    tree:add(f.window, tvb(14, 2), scaled_window(header, context)):set_generated()
    local shift = header.syn and 0 or context.shift or -1
    tree:add(f.shift, tvb(14, 2), shift):set_generated()
    add_options(tvb, tree, header, context)
    if header.payload_len then
        tree:add(f.len, tvb(0, 0), header.payload_len):set_generated()
        if tvb:captured_len() > header.len then tree:add(f.payload, tvb(header.len)) end
    end
end

-- Dissects tvb as one segment. Returns the text for the info column.
local function dissect_segment(tvb, pinfo, root)
    local tree = root:add(tou, tvb())
    if tvb:captured_len() < MIN_HEADER_LEN then
        tree:add(f.cookie, tvb(4, 4))
        local whole = tvb:reported_len() >= MIN_HEADER_LEN
        tree:add_proto_expert_info(whole and e.cut or e.header)
        return "[ToU header not whole]"
    end
    local header = read_header(tvb)
    local context = context_of(pinfo, header)
    add_header(tvb, tree, header, context)
    local seq, ack = relative(header.seq, context.isn), relative(header.ack, context.other_isn)
    tree:append_text((", Seq: %.0f"):format(seq))
    if header.has_ack then tree:append_text((", Ack: %.0f"):format(ack)) end
    if header.payload_len then tree:append_text(", Len: " .. header.payload_len) end
    return info_of(tvb, pinfo, header, context)
end

local function has_cookie(tvb)
    return tvb:captured_len() >= 8 and tvb(4, 4):uint() == COOKIE
end

local COOKIE_BYTES = string.char(0x71, 0x94, 0xB3, 0x2E)

-- The size of the segments in a datagram. A capture has many segments in one datagram if the host
-- splits it after the capture (UDP_SEGMENT) or coalesces before it (UDP_GRO). The cookie and the
-- sequence number of the second segment show where it begins.
local function segment_size(tvb)
    local total = tvb:reported_len()
    local header_len = 4 * tvb(12, 1):bitfield(0, 4)
    if total < 2 * MIN_HEADER_LEN or header_len < MIN_HEADER_LEN then return total end
    local seq, bytes = tvb(0, 4):uint(), tvb:raw()
    local at = bytes:find(COOKIE_BYTES, 9, true)
    while at do
        local start = at - 5
        local len = start - header_len
        if len > 0 and start + MIN_HEADER_LEN <= tvb:captured_len()
            and tvb(start, 4):uint() == (seq + len) % 2 ^ 32 then
            return start
        end
        at = bytes:find(COOKIE_BYTES, at + 1, true)
    end
    return total
end

local function dissect(tvb, pinfo, root)
    pinfo.cols.protocol = "ToU"
    local captured, total = tvb:captured_len(), tvb:reported_len()
    local size = captured >= MIN_HEADER_LEN and segment_size(tvb) or total
    local first_len = math.min(size, captured)
    local info = dissect_segment(size < total and tvb(0, first_len):tvb() or tvb, pinfo, root)
    local count, at = 1, size
    while at < captured do
        local len = math.min(size, captured - at)
        local piece = tvb(at, len):tvb()
        if not has_cookie(piece) then break end
        dissect_segment(piece, pinfo, root)
        count, at = count + 1, at + size
    end
    if count > 1 then
        root:add(f.segments, tvb(), count):set_generated()
        info = info .. " [" .. count .. " segments in one datagram]"
    end
    pinfo.cols.info = info
    return captured
end

-- Returns 0 for other protocols. Wireshark then tries other dissectors, such as that of STUN.
function tou.dissector(tvb, pinfo, root)
    return has_cookie(tvb) and dissect(tvb, pinfo, root) or 0
end

tou:register_heuristic("udp", function(tvb, pinfo, root)
    return has_cookie(tvb) and dissect(tvb, pinfo, root) > 0
end)

local taken = ""

local function take_ports()
    local ports, wanted = DissectorTable.get("udp.port"), tou.prefs.ports
    if wanted == taken then return end
    if taken ~= "" then ports:remove(taken, tou) end
    if wanted ~= "" then ports:add(wanted, tou) end
    taken = wanted
end

take_ports()
tou.prefs_changed = take_ports
