//! What the page says of a federation.

use std::sync::Arc;

use super::world::World;
use crate::page::launch::Launcher;
use crate::page::site::Site;
use crate::page::view::tests::{member, page_with};

fn site(world: &World) -> Site {
    let (service, launcher) = (Arc::clone(&world.service), Launcher::default());
    Site { service, port: world.port, token: world.token.clone(), launcher, suggested: None }
}

#[test]
fn a_member_sees_what_was_sent_promised_and_spent() {
    let world = World::with(&[]);
    let page = page_with(&site(&world), |status| status.federation = Some(member()));
    let all = [
        "5 messages to <code>https://search.example.org</code>",
        "trusted-server",
        "3 of 8 lists",
        "12 (worse for you, not used)",
        "nobody else learns more than epsilon 4",
        "Spent so far: epsilon 1.00 of 4.00.",
        "at most 73 % sure",
        "When all of it is spent: the odds of any guess about you grow at most 54.6 times",
        "width=\"25\"",
        "Join again, with another consent",
    ];
    for words in all {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("3f0c<b>") && !page.contains("Nothing. This agent learns alone"), "{page}");
}

#[test]
fn it_is_said_what_is_not_as_it_should_be() {
    let world = World::with(&[]);
    let page = page_with(&site(&world), |status| {
        let mut federation = member();
        (federation.is_member, federation.promise, federation.waiting_round) = (false, None, Some(7));
        let budget = federation.budget.as_mut().expect("a budget");
        (budget.limit_epsilon, budget.n_unprotected, budget.is_exhausted) = (None, 2, true);
        status.federation = Some(federation);
        status.being_forgotten_by = vec!["https://other.example.org".into()];
        status.problem = Some("the disk is full".into());
        status.folders.clear();
    });
    let all = [
        "(not a member yet)",
        "The plan has not been seen yet.",
        "waits to be sent (round 7)",
        "Nothing limits how much will be spent.",
        "2 messages left without any protection",
        "The budget is used up",
        "https://other.example.org has been asked to forget",
        "the disk is full",
    ];
    for words in all {
        assert!(page.contains(words), "{words}: {page}");
    }
}
