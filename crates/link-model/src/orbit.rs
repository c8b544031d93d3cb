//! The propagation delay by way of satellites on a circular low orbit, as a schedule.
//!
//! The Earth's centre, a station on the ground and a satellite are the corners of a triangle. Two of its
//! sides are the Earth's radius R and the orbit's radius a, which is R plus the altitude. The third one, d, is the
//! way of the signal. With the angle t at the centre, the law of cosines gives
//!
//! ```text
//! d^2 = R^2 + a^2 - 2 R a cos t
//! ```
//!
//! The angle at the station is 90 degrees plus the elevation e, so that a^2 = R^2 + d^2 + 2 R d sin e, and
//!
//! ```text
//! d = sqrt(a^2 - (R cos e)^2) - R sin e
//! ```
//!
//! The third angle is 90 degrees - e - t. By the law of sines cos(e + t) = R cos e / a, which gives the
//! angle t at which a satellite rises above an elevation. The satellite passes the zenith, and moves through
//! sqrt(GM / a^3) radians a second, by Kepler's third law. The rotation of the Earth is left out: it
//! changes the length of a pass by a few per cent.

use crate::{ConfigError, Steps};
use std::f64::consts::PI;
use windlass_base::Span;

/// The Earth's mean radius in km.
const EARTH_KM: f64 = 6371.0;
/// The Earth's gravitational constant times its mass, in km^3/s^2.
const EARTH_GM: f64 = 398_600.441_8;
/// The speed of light in km/s.
const LIGHT_KM_PER_S: f64 = 299_792.458;
/// The golden ratio's fraction: multiples of it spread evenly over an interval, and neighbours differ.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// Satellites until the schedule begins again, where each is used for a given time.
const ROUND: u64 = 32;
/// The delay is constant for this time, or for a thousandth of the use of a satellite if that is more.
const STEP: Span = Span::from_millis(100);
const STEPS_MAX: u64 = 1_000;

/// Satellites of which a station uses one at a time.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Orbit {
    /// Altitude in km, above zero.
    pub altitude_km: f64,
    /// The elevation in degrees below which no satellite is used, from 0 to 90.
    pub min_elevation_deg: f64,
    /// The time from one satellite to the next. `None`: each is used until it sets, when the next one
    /// rises.
    pub handover: Option<Span>,
    /// Ways between the ground and a satellite on the link: 2 for one up and one down to a station at
    /// the same place.
    pub legs: u32,
    /// Added to the delay, for the way on the ground.
    pub extra: Span,
}

impl Orbit {
    /// The distance in km to a satellite that stands at this elevation in degrees.
    pub fn slant_range_km(&self, elevation_deg: f64) -> f64 {
        let elevation = elevation_deg * PI / 180.0;
        let across = EARTH_KM * libm::cos(elevation);
        libm::sqrt(self.radius() * self.radius() - across * across)
            - EARTH_KM * libm::sin(elevation)
    }

    /// How long a satellite stands above the least elevation.
    pub fn pass(&self) -> Span {
        Span::from_secs_f64(2.0 * self.rises_at() / self.speed())
    }

    /// The delay of the link over time.
    ///
    /// Without a handover, each satellite is used for its whole [`pass`](Orbit::pass). With one, satellites
    /// are used from points of their pass that are spread over it: neighbours by the golden ratio, the
    /// first as it rises. How real systems choose is not published. The schedule begins again after 32
    /// satellites.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Orbit`] if a satellite sets before its handover.
    pub fn delay(&self) -> Result<Steps<Span>, ConfigError> {
        let pass = self.pass();
        let (used, satellites) = self.handover.map_or((pass, 1), |handover| (handover, ROUND));
        if used.is_zero() || used > pass {
            return Err(ConfigError::Orbit);
        }
        let spare = 2.0 * self.rises_at() - self.speed() * used.as_secs_f64();
        let samples = (used.as_nanos() / STEP.as_nanos()).clamp(1, STEPS_MAX);
        let mut steps = Vec::new();
        for satellite in 0..satellites {
            let place = satellite as f64 * GOLDEN;
            let begin = spare * (place - libm::floor(place)) - self.rises_at();
            for sample in 0..samples {
                let into = used * sample / samples;
                let angle = begin + self.speed() * into.as_secs_f64();
                steps.push((used * satellite + into, self.delay_at(angle)));
            }
        }
        Steps::new(steps, Some(used * satellites))
    }

    /// The delay of the link while the satellite is `angle` radians from the zenith, seen from the Earth's centre.
    fn delay_at(&self, angle: f64) -> Span {
        let a = self.radius();
        let square = EARTH_KM * EARTH_KM + a * a - 2.0 * EARTH_KM * a * libm::cos(angle);
        let way_km = libm::sqrt(square) * f64::from(self.legs);
        Span::from_secs_f64(way_km / LIGHT_KM_PER_S) + self.extra
    }

    fn radius(&self) -> f64 {
        EARTH_KM + self.altitude_km
    }

    /// The angle in radians before the zenith at which a satellite has the least elevation.
    fn rises_at(&self) -> f64 {
        let elevation = self.min_elevation_deg * PI / 180.0;
        libm::acos(EARTH_KM * libm::cos(elevation) / self.radius()) - elevation
    }

    /// Radians a second.
    fn speed(&self) -> f64 {
        let a = self.radius();
        libm::sqrt(EARTH_GM / (a * a * a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Time;

    const STARLINK: Orbit = Orbit {
        altitude_km: 550.0,
        min_elevation_deg: 25.0,
        handover: None,
        legs: 1,
        extra: Span::ZERO,
    };

    fn delay_ms(steps: &Steps<Span>, at_s: f64) -> f64 {
        steps.at(Time::ZERO + Span::from_secs_f64(at_s)).0.as_millis_f64()
    }

    /// At the zenith the altitude. At 25 degrees R sin e = 2692.50 km and R cos e = 5774.09 km, so that
    /// d = sqrt(6921^2 - 5774.09^2) - 2692.50 = 3815.78 - 2692.50 km. At the horizon
    /// sqrt(6921^2 - 6371^2).
    #[test]
    fn slant_ranges_are_those_computed_by_hand() {
        for (elevation, km) in [(90.0, 550.0), (25.0, 1123.28), (0.0, 2703.81)] {
            let found = STARLINK.slant_range_km(elevation);
            assert!((found - km).abs() < 0.01, "{elevation} degrees: {found} km");
        }
    }

    /// cos(25 degrees + t) = 5774.09 / 6921, so t = 33.460 - 25 degrees. A circular orbit of that altitude takes
    /// 5730.1 s, so 16.920 of 360 degrees take 269.3 s.
    #[test]
    fn a_pass_begins_and_ends_at_the_least_elevation_with_the_zenith_between() {
        let pass = STARLINK.pass().as_secs_f64();
        assert!((pass - 269.3).abs() < 0.2, "{pass} s");
        let steps = STARLINK.delay().expect("a whole pass");
        let rises = 1123.28 / LIGHT_KM_PER_S * 1e3;
        assert!((delay_ms(&steps, 0.0) - rises).abs() < 1e-4);
        assert!((delay_ms(&steps, pass / 2.0) - 550.0 / LIGHT_KM_PER_S * 1e3).abs() < 1e-4);
        assert!((delay_ms(&steps, pass - 0.01) - rises).abs() < 0.01);
        assert!((delay_ms(&steps, pass + 0.01) - rises).abs() < 1e-4, "the next one rises");
        let bent = Orbit { legs: 2, extra: Span::from_millis(7), ..STARLINK };
        let bent = bent.delay().expect("a whole pass");
        assert!((delay_ms(&bent, 0.0) - 7.0 - 2.0 * rises).abs() < 1e-3);
    }

    #[test]
    fn most_handovers_change_the_delay_by_more_than_a_satellites_way_in_a_second() {
        let orbit = Orbit { handover: Some(Span::from_secs(15)), ..STARLINK };
        let steps = orbit.delay().expect("15 s of a pass");
        let [least, most] = [550.0, 1123.29].map(|km| km / LIGHT_KM_PER_S * 1e3);
        assert!(steps.values().all(|delay| (least..most).contains(&delay.as_millis_f64())));
        let mut jumps = 0;
        for satellite in 1..32 {
            let at = f64::from(satellite) * 15.0;
            let [before, after] = [at - 0.05, at + 0.05].map(|at| delay_ms(&steps, at));
            let within = delay_ms(&steps, at + 1.0) - after;
            jumps += u32::from((after - before).abs() > 0.1);
            assert!(within.abs() < 0.03, "within a second: {within} ms");
        }
        // The others lead to a place at the other side of the zenith.
        assert!(jumps >= 28, "{jumps} of 31");
        let again = delay_ms(&steps, 32.0 * 15.0 + 1.0);
        assert_eq!(again, delay_ms(&steps, 1.0));
    }

    #[test]
    fn a_satellite_must_not_set_before_its_handover() {
        for handover in [Span::from_secs(270), Span::ZERO] {
            let orbit = Orbit { handover: Some(handover), ..STARLINK };
            assert_eq!(orbit.delay(), Err(ConfigError::Orbit));
        }
    }
}
