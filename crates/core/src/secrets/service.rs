//! Tokens of messaging, payment, mail, commerce, analytics and social services.

use super::detector::{Back, Token, provider};

pub(super) static TOKENS: &[Token] = &[
    provider(
        "slack-token",
        "Slack token",
        &["xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxd-"],
        "(?:xox[abprsoc]-(?:[0-9]-)?(?:[0-9]{6,}-[A-Za-z0-9-]{10,220}|[A-Za-z0-9]{12,90})|xoxd-[A-Za-z0-9%]{40,300})",
    ),
    provider(
        "slack-config-token",
        "Slack configuration token",
        &["xoxe.", "xoxe-"],
        r"xoxe[.-](?:xox[bp]-)?[0-9]-[A-Za-z0-9]{100,250}",
    ),
    provider(
        "slack-app-token",
        "Slack app token",
        &["xapp-"],
        "xapp-[0-9]-[A-Z0-9]{5,20}-[0-9]{5,20}-[A-Za-z0-9]{30,90}",
    ),
    provider(
        "slack-webhook",
        "Slack webhook",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:(?:services|workflows|triggers)/)([A-Za-z0-9+/]{40,110})",
    ),
    provider(
        "teams-webhook",
        "Microsoft Teams webhook",
        &[".webhook.office.com/", "outlook.office.com/webhook"],
        r"(?:\.webhook\.office\.com/webhookb2|outlook\.office\.com/webhook)/([0-9a-f]{8}-[0-9a-f-]{27}@[0-9a-f-]{36}/IncomingWebhook/[0-9a-z]{32}/[0-9a-f-]{36}[A-Za-z0-9_/-]{0,60})",
    ),
    provider(
        "discord-webhook",
        "Discord webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/([A-Za-z0-9_-]{60,80})",
    ),
    provider("telegram-token", "Telegram bot token", &[":a"], "(?:bot)?[0-9]{7,11}:(A[A-Za-z0-9_-]{34})")
        .back(Back::Run(14))
        .entropy(3800),
    provider(
        "zapier-webhook",
        "Zapier webhook",
        &["hooks.zapier.com/hooks/catch/"],
        r"hooks\.zapier\.com/hooks/catch/([0-9]{5,10}/[A-Za-z0-9]{5,10})",
    )
    .entropy(2000),
    provider(
        "stripe-key",
        "Stripe key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"],
        "[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,250}",
    ),
    provider(
        "stripe-webhook-secret",
        "webhook signing secret",
        &["whsec_"],
        "whsec_[A-Za-z0-9+/]{24,80}={0,2}",
    ),
    provider("twilio-key", "Twilio key", &["sk"], "SK(?:[a-f0-9]{32}|[A-Fa-f0-9]{32})"),
    provider("sendgrid-key", "SendGrid key", &["sg."], r"SG\.[A-Za-z0-9_.-]{60,72}"),
    provider(
        "brevo-key",
        "Brevo key",
        &["xkeysib-", "xsmtpsib-"],
        "x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}",
    ),
    provider("mailgun-key", "Mailgun key", &["key-"], "key-[a-f0-9]{32}"),
    provider("mailchimp-key", "Mailchimp key", &["-us"], "[a-f0-9]{32}-us[0-9]{1,2}").back(Back::Run(32)),
    provider("mandrill-key", "Mandrill key", &["md-"], "md-[A-Za-z0-9_-]{22}").entropy(3600),
    provider("resend-key", "Resend key", &["re_"], "re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    provider("facebook-token", "Facebook access token", &["eaa"], "EAA[A-Za-z0-9]{60,400}"),
    provider(
        "twitter-bearer",
        "Twitter bearer token",
        &["aaaaaaaaaaaaaaaaaaaa"],
        "A{20,22}[A-Za-z0-9%]{60,120}",
    ),
    provider("linkedin-token", "LinkedIn token", &["wpl_ap"], r"WPL_AP[01]\.[A-Za-z0-9_+=.-]{14,80}"),
    provider("dropbox-token", "Dropbox token", &["sl."], r"sl\.(?:u\.)?[A-Za-z0-9_=-]{120,1400}"),
    provider(
        "dropbox-long-token",
        "Dropbox token",
        &["aaaaaaaaaa"],
        "[A-Za-z0-9]{11}AAAAAAAAAA[A-Za-z0-9_-]{43}",
    )
    .back(Back::Exactly(11)),
    provider(
        "shopify-token",
        "Shopify token",
        &["shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shpit_"],
        "shp(?:at|ca|pa|ss|ua|it)_[A-Fa-f0-9]{32}",
    ),
    provider(
        "square-token",
        "Square token",
        &["sq0atp-", "sq0csp-", "eaaa"],
        "(?:sq0atp-[A-Za-z0-9_-]{22,60}|sq0csp-[A-Za-z0-9_-]{43,60}|EAAA[A-Za-z0-9_+=-]{60})",
    ),
    provider(
        "braintree-token",
        "Braintree token",
        &["access_token$"],
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}",
    ),
    provider(
        "plaid-token",
        "Plaid token",
        &["access-sandbox-", "access-development-", "access-production-"],
        "access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    provider("adobe-secret", "Adobe client secret", &["p8e-"], "p8e-[A-Za-z0-9]{32}"),
    provider("typeform-token", "Typeform token", &["tfp_"], r"tfp_[A-Za-z0-9_.=-]{40,62}"),
    provider("contentful-token-prefixed", "Contentful token", &["cfpat-"], "CFPAT-[A-Za-z0-9_-]{40,46}"),
    provider(
        "mapbox-secret-token",
        "Mapbox secret token",
        &["sk.eyj"],
        r"sk\.eyJ[A-Za-z0-9_-]{50,120}\.[A-Za-z0-9_-]{20,26}",
    ),
    provider(
        "hubspot-token",
        "HubSpot token",
        &["pat-na", "pat-eu", "pat-ap"],
        "pat-(?:na|eu|ap)[0-9]-[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    ),
    provider("intercom-token", "Intercom token", &["dg9rog"], "dG9rOg?[A-Za-z0-9+/]{50,60}={0,2}"),
    provider("shippo-token", "Shippo token", &["shippo_"], "shippo_(?:live|test)_[A-Fa-f0-9]{40}"),
    provider("easypost-key", "EasyPost key", &["ezak", "eztk"], "EZ[AT]K[A-Za-z0-9]{54}"),
    provider("duffel-token", "Duffel token", &["duffel_"], "duffel_(?:test|live)_[A-Za-z0-9_=-]{43}"),
    provider(
        "flutterwave-key",
        "Flutterwave secret key",
        &["flwseck"],
        "FLWSECK(?:_TEST|_LIVE)?-[A-Za-z0-9]{12,40}(?:-X)?",
    ),
    provider("frameio-token", "Frame.io token", &["fio-u-"], "fio-u-[A-Za-z0-9_=-]{64}"),
    provider("lob-key", "Lob key", &["live_", "test_"], "(?:live|test)_(?:pub_)?[a-f0-9]{35}"),
    provider(
        "gocardless-token",
        "GoCardless token",
        &["live_", "sandbox_"],
        "(?:live|sandbox)_[A-Za-z0-9_-]{40}",
    )
    .entropy(4000),
    provider("maxmind-key", "MaxMind license key", &["_mmk"], "[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk")
        .back(Back::Exactly(36)),
    provider("adafruit-key", "Adafruit IO key", &["aio_"], "aio_[A-Za-z0-9]{28}"),
    provider("posthog-key", "PostHog personal key", &["phx_", "phs_"], "ph[xs]_[A-Za-z0-9]{40,52}"),
    provider("pubnub-key", "PubNub secret key", &["sec-c-"], "sec-c-[A-Za-z0-9]{40,80}"),
    provider(
        "stytch-secret",
        "Stytch secret",
        &["secret-test-", "secret-live-"],
        "secret-(?:test|live)-[A-Za-z0-9_=-]{36}",
    ),
    provider("intra42-secret", "Intra 42 secret", &["s-s4t2"], "s-s4t2(?:ud|af)-[a-f0-9]{64}"),
    provider("vk-token", "VK token", &["vk1.a."], r"vk1\.a\.[A-Za-z0-9_-]{80,300}"),
    provider("persona-key", "Persona key", &["persona_"], "persona_(?:sandbox|production)_[0-9a-f-]{36}"),
    provider(
        "tines-webhook",
        "Tines webhook",
        &[".tines.com/webhook/"],
        r"\.tines\.com/webhook/([a-f0-9]{32}/[a-f0-9]{32})",
    ),
    provider(
        "sidekiq-credential",
        "Sidekiq credential",
        &["bundle_enterprise__contribsys__com", "bundle_gems__contribsys__com"],
        r"(?i:BUNDLE_(?:ENTERPRISE|GEMS)__CONTRIBSYS__COM)\s{0,3}[=:]\s{0,3}[\x22']?([a-f0-9]{8}:[a-f0-9]{8})",
    ),
];

/// Formats without a keyword: tried on whole values that are assigned to something that holds a secret.
pub(super) static SHAPES: &[Token] = &[
    provider(
        "discord-bot-token",
        "Discord bot token",
        &[],
        r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
    ),
    provider("mailgun-private-key", "Mailgun key", &[], "[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}"),
];
