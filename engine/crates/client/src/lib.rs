//! x
use std::net::IpAddr;
/// x
pub fn serve(_: IpAddr, _: u16) -> Result<(), String> {
    Err("x".into())
}
