//! The exhibits of this version fail their cases; those that it mended pass.

#[test]
fn the_faults_are_there() {
    assert_eq!(windlass_stacks_museum::check(windlass_stacks_museum_halfway::LOCK), 3);
}
