//! Money in whole millionths of a US dollar, so that sums do not depend on their order.

/// Converts dollars to millionths; contracts have at most six decimals.
pub fn micro_usd(usd: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "amounts are small and not negative"
    )]
    let micro = (usd * 1e6).round().max(0.0) as u64;
    micro
}

/// Converts millionths to dollars, the unit of contracts.
pub fn usd(micro: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "amounts of one run are far below 2^53 millionths")]
    let usd = micro as f64 / 1e6;
    usd
}
