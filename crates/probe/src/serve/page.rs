/// The application of a simulated server.
pub trait Speaker {
    /// Takes received bytes and appends the bytes to send to `out`. Returns true once the answer is
    /// complete.
    fn hear(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool;
}

/// Answers the end of a request's head with fixed bytes, and closes.
#[derive(Clone, Debug)]
pub struct Says {
    answer: Vec<u8>,
    heard: Vec<u8>,
}

impl Says {
    /// A speaker with this answer.
    pub fn new(answer: Vec<u8>) -> Says {
        Says { answer, heard: Vec::new() }
    }
}

impl Speaker for Says {
    fn hear(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        self.heard.extend_from_slice(bytes);
        let done = self.heard.ends_with(b"\r\n\r\n");
        if done {
            self.heard.clear();
            out.extend_from_slice(&self.answer);
        }
        done
    }
}

/// Makes a speaker with the same answer for each connection.
pub fn says(answer: Vec<u8>) -> impl FnMut() -> Box<dyn Speaker> {
    move || Box::new(Says::new(answer.clone()))
}

/// An answer with status 200 and a body of `len` bytes.
pub fn page(len: usize) -> Vec<u8> {
    let mut page = format!("HTTP/1.1 200 OK\r\nServer: engine\r\nContent-Length: {len}\r\n\r\n");
    page.push_str(&"x".repeat(len));
    page.into_bytes()
}
