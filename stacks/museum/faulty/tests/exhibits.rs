//! The exhibits of these versions fail their cases.

#[test]
fn the_faults_are_there() {
    assert_eq!(windlass_stacks_museum::check(windlass_stacks_museum_faulty::LOCK), 6);
}
