//! The chunked transfer coding, one byte or many at a time.

use crate::Failure;

/// How many bytes of chunk extensions and trailers one answer may have.
const OVERHEAD: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    Extension,
    SizeEnd,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerEnd,
    Done,
}

/// Where a chunked body has got to.
#[derive(Debug, Clone)]
pub struct Chunked {
    state: State,
    remaining: u64,
    digits: u8,
    overhead: usize,
}

impl Chunked {
    pub fn new() -> Self {
        Self {
            state: State::Size,
            remaining: 0,
            digits: 0,
            overhead: 0,
        }
    }

    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes bytes, hands the data among them to `sink`, and returns how many belonged to the body.
    pub fn feed(&mut self, input: &[u8], sink: &mut impl FnMut(&[u8])) -> Result<usize, Failure> {
        let mut at = 0;
        while at < input.len() && self.state != State::Done {
            if self.state == State::Data {
                at += self.data(&input[at..], sink);
            } else {
                self.control(input[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    fn data(&mut self, input: &[u8], sink: &mut impl FnMut(&[u8])) -> usize {
        let wanted = usize::try_from(self.remaining)
            .unwrap_or(usize::MAX)
            .min(input.len());
        sink(&input[..wanted]);
        self.remaining -= wanted as u64;
        if self.remaining == 0 {
            self.state = State::DataCr;
        }
        wanted
    }

    fn control(&mut self, byte: u8) -> Result<(), Failure> {
        self.state = match (self.state, byte) {
            (State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => self.digit(byte)?,
            (State::Size, b';' | b' ' | b'\t') if self.digits > 0 => State::Extension,
            (State::Size, b'\r') if self.digits > 0 => State::SizeEnd,
            (State::Size | State::Extension, b'\n') if self.digits > 0 => self.size_ended(),
            (State::Extension, b'\r') => State::SizeEnd,
            (State::Extension, _) => self.spend(State::Extension)?,
            (State::SizeEnd, b'\n') => self.size_ended(),
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataCr | State::DataLf, b'\n') => State::Size,
            (State::TrailerStart, b'\r') => State::TrailerEnd,
            (State::TrailerStart | State::TrailerEnd, b'\n') => State::Done,
            (State::TrailerStart, _) => self.spend(State::Trailer)?,
            (State::Trailer, b'\n') => State::TrailerStart,
            (State::Trailer, _) => self.spend(State::Trailer)?,
            _ => return Err(Failure::Malformed),
        };
        Ok(())
    }

    fn digit(&mut self, byte: u8) -> Result<State, Failure> {
        self.digits += 1;
        if self.digits > 16 {
            return Err(Failure::Malformed);
        }
        let value = char::from(byte).to_digit(16).map_or(0, u64::from);
        self.remaining = self.remaining << 4 | value;
        Ok(State::Size)
    }

    fn size_ended(&mut self) -> State {
        self.digits = 0;
        if self.remaining == 0 {
            State::TrailerStart
        } else {
            State::Data
        }
    }

    fn spend(&mut self, next: State) -> Result<State, Failure> {
        self.overhead += 1;
        if self.overhead > OVERHEAD {
            Err(Failure::TooLarge)
        } else {
            Ok(next)
        }
    }
}
