use super::*;
use windlass_base::Span;
use windlass_sim::model::{EndpointApp, EndpointFlow, EndpointRequests, Side};

const FLOW: &str = r#"schema = 2
name = "endpoints"
duration = "10s"
nodes = ["a", "b"]
links = [{ a = "a", b = "b", delay = "1ms", rate = "8Mbit/s" }]

[[endpoints]]
from = "a"
to = "b"
"#;

fn flow(keys: &str) -> EndpointFlow {
    scenario(&format!("{FLOW}{keys}"), &[]).endpoints.remove(0)
}

fn message(keys: &str) -> String {
    from_toml("x.toml", &format!("{FLOW}{keys}"), &[]).expect_err("a fault").to_string()
}

#[test]
fn an_endpoint_uploads_in_bulk_unless_keys_say_otherwise() {
    let flow = flow("stack = \"fixed-window\"");
    assert_eq!((flow.name.as_str(), flow.from, flow.to), ("endpoint1", 0, 1));
    assert_eq!(
        (flow.app, flow.opens, flow.start, flow.stop),
        (EndpointApp::Bulk, Side::Sender, Span::ZERO, None)
    );
    assert!(flow.ends.iter().all(|end| end.name() == "fixed-window"));
}

#[test]
fn a_download_is_opened_by_its_receiver() {
    let app = "app = { kind = \"transfer\", size = \"2MB\" }";
    let flow = flow(&format!("stack = \"fixed-window\"\nopens = \"receiver\"\n{app}"));
    assert_eq!(flow.app, EndpointApp::Transfer { bytes: 2_000_000 });
    assert_eq!(flow.opens, Side::Receiver);
}

#[test]
fn wrong_keys_have_a_message_with_their_place() {
    let cases = [
        (
            "stack = \"fixed-windw\"",
            "x.toml:10:9: endpoints.0.stack: expected a transport, found \"fixed-windw\"; did you mean \
             \"fixed-window\"?",
        ),
        (
            "stack = { kind = \"fixed-window\", datagram = \"7B\" }",
            "x.toml:10:45: endpoints.0.stack.datagram: expected 8 to 65507 bytes, found 7",
        ),
        (
            "stack = { kind = \"fixed-window\", timeout = \"0s\" }",
            "x.toml:10:44: endpoints.0.stack.timeout: expected a time above zero",
        ),
        (
            "stack = \"fixed-window\"\napp = { kind = \"requests\", response = \"1kB\" }",
            "x.toml:10:9: endpoints.0.stack: fixed-window has no requests",
        ),
    ];
    for (keys, expected) in cases {
        assert_eq!(message(keys), expected, "{keys}");
    }
}

#[test]
fn with_requests_the_sender_does_not_open_the_connection() {
    let keys = "stack = \"fixed-window\"\nopens = \"sender\"\n\
                app = { kind = \"requests\", response = \"1kB\" }";
    let message = message(keys);
    assert!(message.contains("with requests, the receiver opens the connection"), "{message}");
}

#[test]
fn names_of_flows_are_unique_among_all_kinds() {
    let keys = "name = \"one\"\nstack = \"fixed-window\"\n[[flows]]\nname = \"one\"\nfrom = \"a\"\nto = \"b\"";
    let message = message(keys);
    assert!(message.contains("one"), "{message}");
}

#[test]
fn requests_have_a_size_and_a_pause() {
    use windlass_sim::endpoint::{Endpoint, EndpointFactory, EndpointParams, FixedWindow};

    /// Takes every application.
    #[derive(Debug, Default, serde::Deserialize)]
    struct Any {}

    impl EndpointFactory for Any {
        fn name(&self) -> &'static str {
            "any"
        }

        fn build(&self, params: EndpointParams) -> Box<dyn Endpoint> {
            FixedWindow::default().build(params)
        }
    }

    let keys = "stack = \"any\"\napp = { kind = \"requests\", response = \"1kB\", think = \"2s\", count = 3 }";
    let registry = Registry::default().endpoint::<Any>("any");
    let document = registry.read_toml("x.toml", &format!("{FLOW}{keys}"), &[]).expect("valid");
    let flow = &document.scenario.endpoints[0];
    let expected = EndpointRequests {
        request: 300,
        response: 1_000,
        think: Span::from_secs(2),
        count: Some(3),
    };
    assert_eq!(flow.app, EndpointApp::Requests(expected));
    assert_eq!(flow.opens, Side::Receiver);
}
