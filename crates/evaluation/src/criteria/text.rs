//! The criteria that a specification answers with text (section 5.3).

use super::Criterion;

pub(super) const PRINCIPLES: Criterion = Criterion {
    name: "principles",
    section: "5.3.1",
    title: "Deviations from the principles",
    about: "A specification has to explain where it deviates from RFC 2914 and RFC 7141. That is text, which no run replaces.",
    traffics: &[],
};

pub(super) const DEPLOYMENT: Criterion = Criterion {
    name: "deployment",
    section: "5.3.2",
    title: "Incremental deployment",
    about: "A specification has to discuss deployment among the equipment of today. The report says what the subject needs of its receivers and of the path; the settings show it where they do not give it.",
    traffics: &[],
};
