//! Made-up texts that two ways of reading are held to.

/// Numbers below others, the same every time.
fn numbers() -> impl FnMut(usize) -> usize {
    let mut state = 7_u64;
    move |most| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    }
}

/// Texts of pieces, the same every time, where one in so many stands behind another on its line.
pub(super) fn texts(pieces: &'static [&'static str], joined: usize) -> impl Iterator<Item = String> {
    let mut draw = numbers();
    (0..20_000).map(move |_| {
        let count = 1 + draw(8);
        (0..count)
            .flat_map(|_| [pieces[draw(pieces.len())], if draw(joined) == 1 { "" } else { "\n" }])
            .collect()
    })
}
