//! The kinds of credentials, in the order in which they are looked for.
//! Spec: D3.25

macro_rules! kinds {
    ($($name:ident $text:literal $words:literal;)*) => {
        /// A kind of credential.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind { $(#[doc = concat!("It is ", $words, ".")] $name,)* }

        impl Kind {
            /// Every kind; of two in one text the earlier is told.
            pub const ALL: &'static [Kind] = &[$(Kind::$name,)*];

            /// The kind as it stands in an error's `data.kind` and in the log.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Kind::$name => $text,)* }
            }

            /// The kind in words, with its article.
            #[must_use]
            pub const fn words(self) -> &'static str {
                match self { $(Kind::$name => $words,)* }
            }
        }
    };
}

kinds! {
    PrivateKey "private_key" "a private key";
    AnthropicKey "anthropic_key" "an Anthropic API key";
    OpenaiKey "openai_key" "an OpenAI API key";
    GithubToken "github_token" "a GitHub token";
    AwsKeyId "aws_key_id" "an AWS access key id";
    AwsSecretKey "aws_secret_key" "an AWS secret key";
    GoogleKey "google_key" "a Google API key";
    SlackToken "slack_token" "a Slack token";
    SlackWebhook "slack_webhook" "a Slack webhook URL";
    StripeKey "stripe_key" "a Stripe live key";
    NpmToken "npm_token" "an npm token";
    Jwt "jwt" "a signed JWT";
    BearerToken "bearer_token" "a bearer token";
    InviteTicket "invite_ticket" "a Messaging invite ticket";
}
