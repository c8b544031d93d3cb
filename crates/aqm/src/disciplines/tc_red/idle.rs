//! The table by which Linux's RED lowers its average after idle time.

use windlass_base::{BitRate, Span};

/// tc counts times in the kernel's ticks of 64 ns, the kernel reads its table in microseconds: a
/// transmission counts for as many times too much.
const TICKS_PER_MICROSECOND: f64 = 15.625;
const CELLS: usize = 256;
const MOST_SHIFTS: f64 = 31.0;

/// How idle time lowers the average: by halvings from a table, below the first by a straight line.
#[derive(Clone, Debug)]
pub(super) struct IdleTable {
    /// Halvings for each cell of 2^`cell_log` microseconds.
    shifts: [u8; CELLS],
    cell_log: u32,
}

impl IdleTable {
    pub(super) fn new(weight_log: u32, avpkt_bytes: u32, bandwidth: BitRate) -> IdleTable {
        let microseconds = f64::from(avpkt_bytes) * 8e6 / bandwidth.bits_per_sec() as f64;
        let ticks = libm::floor(microseconds * TICKS_PER_MICROSECOND).max(1.0);
        // tc_red_eval_idle_damping() of iproute2: (1 - W)^m for m transmissions, -ln(1 - W) a tick.
        let rate = -libm::log1p(-libm::exp2(-f64::from(weight_log))) / ticks;
        let whole = MOST_SHIFTS / rate;
        // Two cells at least for each halving.
        let cell_log = (0..32).find(|&log| whole / libm::exp2(f64::from(log)) < 512.0);
        let cell_log = cell_log.unwrap_or(31);
        let mut shifts = [MOST_SHIFTS as u8; CELLS];
        for (cell, shift) in shifts.iter_mut().enumerate().take(CELLS - 1) {
            *shift = (((cell as u64) << cell_log) as f64 * rate).min(MOST_SHIFTS) as u8;
        }
        IdleTable { shifts, cell_log }
    }

    /// The average after so long without a packet.
    pub(super) fn decayed(&self, average: u64, idle: Span) -> u64 {
        // red_calc_qavg_from_idle_time() of Linux.
        let most = (CELLS as u64 - 1) << self.cell_log;
        let microseconds = (idle.as_nanos() / 1_000).min(most);
        match self.shifts[(microseconds >> self.cell_log) as usize] {
            0 => {
                let fall = (u128::from(average) * u128::from(microseconds)) >> self.cell_log;
                average - (fall as u64).min(average - (average >> 1))
            }
            shifts => average >> shifts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> IdleTable {
        let ten_mbit = BitRate::from_bits_per_sec(10_000_000).expect("not zero");
        IdleTable::new(3, 1_000, ten_mbit)
    }

    #[test]
    fn the_table_is_tc_s_for_ten_mbit_per_second() {
        let table = table();
        // 12,500 ticks a packet: 8,192 us a cell, the first halving after 12 of them.
        assert_eq!(table.cell_log, 13);
        assert_eq!((table.shifts[11], table.shifts[12]), (0, 1));
        assert_eq!(table.shifts[255], 31);
    }

    #[test]
    fn short_idle_time_takes_its_part_and_never_more_than_half() {
        let table = table();
        let after = |micros| table.decayed(64_000, Span::from_micros(micros));
        assert_eq!(after(0), 64_000);
        // A packet's time at 10 Mbit/s: 819/8192 of it.
        assert_eq!(after(819), 64_000 - 64_000 * 819 / 8192);
        assert_eq!(after(50_000), 32_000);
        assert_eq!(after(12 * 8_192), 32_000);
        assert_eq!(after(24 * 8_192), 16_000);
        assert_eq!(after(10_000_000), 0);
    }
}
