//! Person views, heads and successions: what a directory that keeps its word serves, and its lies.

use messaging_core::code::Code::{self, BindingInvalid, DirectoryInconsistent, InvalidRequest};
use messaging_core::directory::testing::{Realm, device};
use messaging_core::directory::{KeysStatement, LogSeq, PersonState};
use messaging_core::ids::Hash;
use serde_json::{Value, json};

use super::binding::{context, entries};
use super::book::{Book, WriteError, Writing, made};

/// Ada's three tokens were witnessed in three epochs; Ben was erased; nobody knows Cyn.
fn story() -> Realm {
    let mut realm = Realm::new();
    realm.epoch();
    realm.bind("ada", 1);
    realm.publish("ada", 1);
    realm.bind("ben", 5);
    realm.epoch();
    realm.link("ada", 2, 1);
    realm.publish("ada", 2);
    realm.attest("ada", 1);
    realm.epoch();
    realm.erase("ben");
    realm.publish("ada", 1);
    realm.bind("ada", 3);
    realm.epoch();
    realm.epoch();
    realm
}

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Person views with witnesses of three epochs, person heads and successions, and what is \
         no view of the person at that tree head (section 15.7).",
    );
    let realm = story();
    let at = At {
        sth: book.share("tree head", json!(realm.sth())),
        head: book.share("head leaf", json!(realm.head())),
        context: book.share("ada's context", context(&realm, "ada")),
    };
    views(&mut book, &realm, &at)?;
    lies(&mut book, &realm, &at)?;
    heads(&mut book, &realm, &at)?;
    successions(&mut book, &realm, &at)?;
    Ok(book)
}

struct At {
    sth: Value,
    head: Value,
    context: Value,
}

impl At {
    fn ask(&self, context: &Value, view: &Value) -> Value {
        json!({"realm": context, "sth": self.sth, "head": self.head, "view": view})
    }
}

/// The view of an account after the first `known` entries.
fn view(realm: &Realm, account: &str, known: u64) -> Result<Value, WriteError> {
    made("a view", realm.view(account, known.checked_sub(1).map(LogSeq)).to_value())
}

const KIND: &str = "person_view_verify";

fn views(book: &mut Book, realm: &Realm, at: &At) -> Writing {
    for known in 0..=4 {
        let mut ask = at.ask(&at.context, &view(realm, "ada", known)?);
        if let Some(last) = known.checked_sub(1) {
            ask["held"] = json!({"log": entries(realm, "ada", last)?, "keys": []});
        }
        book.pins(format!("ada to a client that holds {known} entries"), KIND, ask)?;
    }
    for account in ["ben", "cyn"] {
        let ask = at.ask(&context(realm, account), &view(realm, account, 0)?);
        book.pins(account, KIND, ask)?;
    }
    Ok(())
}

fn lies(book: &mut Book, realm: &Realm, at: &At) -> Writing {
    let good = view(realm, "ada", 0)?;
    let none = json!(Hash::from_bytes(&[0; 32]));
    let mut lies: Vec<(&str, Value, Code)> = Vec::new();
    let mut lie = |name, code, change: &dyn Fn(&mut Value)| {
        let mut view = good.clone();
        change(&mut view);
        lies.push((name, view, code));
    };
    let drop_at = |list: &mut Value, at: usize| {
        list.as_array_mut().map(|list| list.remove(at));
    };
    lie("without its last entry", DirectoryInconsistent, &|view| {
        drop_at(&mut view["log"], 3);
        drop_at(&mut view["epochs"], 2);
    });
    lie("without its first entry", DirectoryInconsistent, &|view| drop_at(&mut view["log"], 0));
    lie("without its second entry", DirectoryInconsistent, &|view| drop_at(&mut view["log"], 1));
    lie("without a witness", BindingInvalid, &|view| drop_at(&mut view["epochs"], 1));
    lie("without witnesses", BindingInvalid, &|view| {
        view.as_object_mut().map(|view| view.remove("epochs"));
    });
    lie("with a witness twice", InvalidRequest, &|view| {
        view["epochs"][1] = view["epochs"][0].clone();
    });
    lie("with another epoch's witness", DirectoryInconsistent, &|view| {
        let seq = view["epochs"][1]["seq"].clone();
        view["epochs"][1] = view["epochs"][0].clone();
        view["epochs"][1]["seq"] = seq;
    });
    lie("with a witness of another time", DirectoryInconsistent, &|view| {
        view["epochs"][0]["epoch"]["leaf"]["ts"] = json!(1);
    });
    lie("with a witness of another map", DirectoryInconsistent, &|view| {
        view["epochs"][0]["epoch"]["leaf"]["mapRoot"] = none.clone();
    });
    lie("with a witness of another value", DirectoryInconsistent, &|view| {
        view["epochs"][0]["value"]["keys"] = json!([]);
    });
    lie("without a statement", DirectoryInconsistent, &|view| drop_at(&mut view["keys"], 0));
    lie("with a statement twice", InvalidRequest, &|view| {
        view["keys"][1] = view["keys"][0].clone();
    });
    lie("with another key", BindingInvalid, &|view| view["keys"][0]["enc"] = none.clone());
    lie("with another token's text", BindingInvalid, &|view| {
        view["log"][0]["authority"]["token"] = view["log"][2]["authority"]["token"].clone();
    });
    lie("with the map proof of an epoch before", DirectoryInconsistent, &|view| {
        view["mapProof"] = view["epochs"][0]["mapProof"].clone();
    });
    lie("as a tombstone", DirectoryInconsistent, &|view| {
        *view = json!({"person": view["person"], "log": [], "keys": [],
            "mapProof": view["mapProof"], "tombstone": true});
    });
    lie("as nobody", DirectoryInconsistent, &|view| {
        *view = json!({"person": view["person"], "log": [], "keys": [],
            "mapProof": view["mapProof"]});
    });
    lie("as a tombstone with a log", InvalidRequest, &|view| view["tombstone"] = json!(true));
    lie("with a member more", InvalidRequest, &|view| view["more"] = json!(1));
    lie("with null witnesses", InvalidRequest, &|view| view["epochs"] = json!(null));
    lie("of somebody else", InvalidRequest, &|view| {
        view["person"] = json!(realm.person("ben"));
    });
    for (name, view, code) in lies {
        book.refuses(format!("ada {name}"), KIND, at.ask(&at.context, &view), code)?;
    }
    forks(book, realm, at)
}

/// Another directory of the same persons, for a client that saw the first one.
fn forks(book: &mut Book, realm: &Realm, at: &At) -> Writing {
    let mut other = Realm::new();
    other.epoch();
    other.bind("ada", 1);
    other.link("ada", 4, 1);
    other.attest("ada", 1);
    other.epoch();
    for known in [0, 2] {
        let view = view(&other, "ada", known)?;
        let mut ask = at.ask(&at.context, &view);
        ask["sth"] = json!(other.sth());
        ask["head"] = json!(other.head());
        ask["held"] = json!({"log": entries(realm, "ada", 1)?, "keys": []});
        book.refuses(format!("a fork after {known} entries"), KIND, ask, DirectoryInconsistent)?;
    }
    let mut stale = at.ask(&at.context, &view(realm, "ada", 0)?);
    stale["head"] = json!(realm.proof(3));
    book.refuses("ada at the epoch before", KIND, stale, DirectoryInconsistent)
}

fn heads(book: &mut Book, realm: &Realm, at: &At) -> Writing {
    for account in ["ada", "ben", "cyn"] {
        let mut ask =
            json!({"sth": at.sth, "head": at.head, "personHead": realm.person_head(account)});
        book.pins(format!("the head of {account}"), "person_head_verify", ask.clone())?;
        let said = &mut ask["personHead"];
        if account == "ben" {
            said.as_object_mut().map(|said| said.remove("tombstone"));
        } else {
            said["tombstone"] = json!(true);
        }
        let code = if account == "ada" { InvalidRequest } else { DirectoryInconsistent };
        let name = format!("the head of {account}, told otherwise");
        book.refuses(name, "person_head_verify", ask, code)?;
    }
    Ok(())
}

fn successions(book: &mut Book, realm: &Realm, at: &At) -> Writing {
    let PersonState::Live(person) = realm.state("ada") else { return Ok(()) };
    let keys: Vec<&KeysStatement> = person.keys.values().collect();
    let state = |last: u64, keys: Value| -> Result<Value, WriteError> {
        Ok(json!({"log": entries(realm, "ada", last)?, "keys": keys}))
    };
    let (short, whole) = (state(1, json!([]))?, state(3, json!(keys))?);
    let mut told = |name: &str, earlier: &Value, later: &Value, good: bool| {
        let ask = json!({"realm": at.context, "earlier": earlier, "later": later});
        if good {
            book.pins(name, "person_succession", ask)
        } else {
            book.refuses(name, "person_succession", ask, DirectoryInconsistent)
        }
    };
    told("later: more", &short, &whole, true)?;
    told("later: the same", &whole, &whole, true)?;
    told("later: less", &whole, &short, false)?;
    told("later: erased", &whole, &json!({"erased": true}), true)?;
    told("later: not erased", &json!({"erased": true}), &whole, true)?;
    let others: Vec<&&KeysStatement> =
        keys.iter().filter(|keys| keys.device != device(1)).collect();
    told("later: a key gone", &whole, &state(3, json!(others))?, false)
}
