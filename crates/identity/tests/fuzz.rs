//! The body of the fuzz target `identity`, with random bytes, with keys of which one byte is
//! changed, and with the inputs that once found a fault (`fuzz/regressions`).

#[path = "fuzz_bodies/identity.rs"]
mod identity;

use proptest::prelude::*;
use windlass_identity::SecretKey;
use windlass_testbed::replay;

proptest! {
    #[test]
    fn parsers_take_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        identity::run(&bytes);
    }

    #[test]
    fn parsers_take_changed_keys(seed: [u8; 32], at: prop::sample::Index, to: u8) {
        let key = SecretKey::from_seed(seed);
        let forms = [
            key.public_key().to_string().into_bytes(),
            key.public_key().to_spki_der().to_vec(),
            key.to_pkcs8_der().secret_pkcs8_der().to_vec(),
            key.to_pem().as_bytes().to_vec(),
        ];
        for mut form in forms {
            identity::run(&form);
            let at = at.index(form.len());
            form[at] = to;
            identity::run(&form);
        }
    }
}

#[test]
fn parsers_pass_their_regressions() {
    replay("identity", identity::run);
}
