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

/// Programs of statements, the same every time; others stand where one has an `@`.
pub(super) fn programs(statements: &'static [&'static str]) -> impl Iterator<Item = String> {
    let mut draw = numbers();
    (0..4_000).map(move |_| (0..1 + draw(3)).map(|_| statement(statements, &mut draw, 4)).collect())
}

fn statement(statements: &[&str], draw: &mut impl FnMut(usize) -> usize, depth: usize) -> String {
    let chosen = statements[draw(statements.len())];
    let mut text = String::new();
    for (number, part) in chosen.split('@').enumerate() {
        let inside = if number > 0 && depth > 0 { draw(4) } else { 0 };
        text.extend((0..inside).map(|_| statement(statements, draw, depth - 1)));
        text.push_str(part);
    }
    text + "\n"
}
