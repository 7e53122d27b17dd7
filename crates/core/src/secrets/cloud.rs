//! Tokens of clouds, hosting, databases and infrastructure.

use super::detector::{Back, Token, provider};

pub(super) static TOKENS: &[Token] = &[
    provider(
        "aws-access-key-id",
        "AWS access key",
        &["akia", "asia", "abia", "acca"],
        "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    ),
    provider("aws-bedrock-key", "Amazon Bedrock API key", &["absk"], "ABSK[A-Za-z0-9+/]{109,269}={0,2}"),
    provider(
        "aws-bedrock-short-key",
        "Amazon Bedrock API key",
        &["bedrock-api-key-"],
        "bedrock-api-key-[A-Za-z0-9+/=]{40,2000}",
    ),
    provider(
        "amazon-mws-token",
        "Amazon MWS token",
        &["amzn.mws."],
        r"amzn\.mws\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    provider(
        "amazon-oauth-secret",
        "Amazon OAuth client secret",
        &["amzn1.oa2-cs."],
        r"amzn1\.oa2-cs\.v1\.[0-9a-f]{64}",
    ),
    provider("gcp-api-key", "Google API key", &["aiza"], "AIza[0-9A-Za-z_-]{35}"),
    provider("google-oauth-secret", "Google OAuth client secret", &["gocspx-"], "GOCSPX-[0-9A-Za-z_-]{28}"),
    provider("google-access-token", "Google access token", &["ya29."], r"ya29\.[0-9A-Za-z_-]{20,1024}"),
    provider("google-refresh-token", "Google refresh token", &["1//0"], "1//0[0-9A-Za-z_-]{40,300}"),
    provider(
        "azure-storage-key",
        "Azure storage account key",
        &["accountkey="],
        "(?i:AccountKey=)([A-Za-z0-9+/]{86}==)",
    ),
    provider(
        "azure-shared-access-key",
        "Azure shared access key",
        &["sharedaccesskey="],
        "(?i:SharedAccessKey=)([A-Za-z0-9+/]{42,44}=)",
    ),
    provider(
        "azure-sas-signature",
        "Azure shared access signature",
        &["sig="],
        "sig=((?:[A-Za-z0-9+/]|%2[BbFf]){43}(?:%3[Dd]|=))",
    ),
    provider(
        "azure-client-secret",
        "Azure client secret",
        &["0q~", "1q~", "2q~", "3q~", "4q~", "5q~", "6q~", "7q~", "8q~", "9q~"],
        "[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
    )
    .back(Back::Exactly(3)),
    provider("azure-devops-token", "Azure DevOps token", &["azdo"], "[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}")
        .back(Back::Exactly(76)),
    provider(
        "azure-function-key",
        "Azure function key",
        &["azfu"],
        "[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_=-]{5,8}",
    )
    .back(Back::Exactly(44)),
    provider("azure-search-key", "Azure search key", &["azse"], "[A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}")
        .back(Back::Exactly(42)),
    provider(
        "azure-storage-identifiable-key",
        "Azure storage account key",
        &["+ast"],
        r"[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}==",
    )
    .back(Back::Exactly(76)),
    provider("azure-cosmos-key", "Azure Cosmos DB key", &["acdb"], "[A-Za-z0-9+/]{76}ACDb[A-Za-z0-9+/]{6}==")
        .back(Back::Exactly(76)),
    provider(
        "azure-event-key",
        "Azure messaging key",
        &["+aeh", "+asb", "+aiot"],
        r"[A-Za-z0-9+/]{33}(?:\+AEh|\+ASb|AIoT)[A-Za-z0-9+/]{6}=",
    )
    .back(Back::Exactly(33)),
    provider(
        "azure-registry-password",
        "Azure container registry password",
        &["+acr"],
        r"[A-Za-z0-9+/]{42}\+ACR[A-D][A-Za-z0-9+/]{5}",
    )
    .back(Back::Exactly(42)),
    provider("azure-openai-key", "Azure AI key", &["jqqj99"], "[A-Za-z0-9]{46,52}JQQJ99[A-Za-z0-9]{22,32}")
        .back(Back::Run(52)),
    provider("alibaba-access-key-id", "Alibaba Cloud access key", &["ltai"], "LTAI[A-Za-z0-9]{12,24}"),
    provider("tencent-secret-id", "Tencent Cloud secret id", &["akid"], "AKID[A-Za-z0-9]{32}"),
    provider("yandex-oauth-token", "Yandex OAuth token", &["y0_"], "y0_[A-Za-z0-9_-]{50,70}"),
    provider(
        "yandex-iam-token",
        "Yandex IAM token",
        &["t1."],
        r"t1\.[A-Z0-9a-z_-]{1,400}={0,2}\.[A-Za-z0-9_-]{86}={0,2}",
    ),
    provider("yandex-api-key", "Yandex API key", &["aqvn"], "AQVN[A-Za-z0-9_-]{35,38}"),
    provider("yandex-access-key", "Yandex storage secret", &["yc"], "YC[A-Za-z0-9_-]{38}").entropy(4000),
    provider(
        "digitalocean-token",
        "DigitalOcean token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        "do[opr]_v1_[a-f0-9]{64}",
    ),
    provider("heroku-token", "Heroku token", &["hrku-"], "HRKU-[A-Za-z0-9_-]{36,64}"),
    provider(
        "flyio-token",
        "Fly.io token",
        &["fm1_", "fm2_", "fm1r_", "fm1a_"],
        r"fm(?:1[ar]?|2)_[A-Za-z0-9+/=_-]{60,2000}",
    ),
    provider("flyio-access-token", "Fly.io token", &["fo1_"], "fo1_[A-Za-z0-9_-]{43}"),
    provider(
        "cloudflare-origin-key",
        "Cloudflare origin CA key",
        &["v1.0-"],
        r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}",
    ),
    provider(
        "netlify-token",
        "Netlify token",
        &["nfp_", "nfo_", "nfc_", "nfu_", "nfb_"],
        "nf[pocub]_[A-Za-z0-9_]{36}",
    ),
    provider(
        "vercel-prefixed-token",
        "Vercel token",
        &["vcp_", "vci_", "vca_", "vcr_", "vck_", "vercel_blob_rw_"],
        "(?:vc[piark]_[A-Za-z0-9]{24,64}|vercel_blob_rw_[A-Za-z0-9]{16,20}_[A-Za-z0-9]{30})",
    ),
    provider(
        "supabase-token",
        "Supabase token",
        &["sbp_", "sb_secret_"],
        "(?:sbp_(?:v0_|oauth_)?[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,48})",
    ),
    provider(
        "planetscale-token",
        "PlanetScale token",
        &["pscale_tkn_", "pscale_oauth_", "pscale_pw_"],
        "pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{32,64}",
    ),
    provider("neon-api-key", "Neon API key", &["napi_"], "napi_[a-z0-9]{64}"),
    provider(
        "databricks-token",
        "Databricks token",
        &["dapi", "dose", "dkea"],
        "(?:dapi|dose|dkea)[a-f0-9]{32}(?:-[0-9])?",
    ),
    provider(
        "mongodb-service-secret",
        "MongoDB Atlas service account secret",
        &["mdb_sa_sk_"],
        "mdb_sa_sk_[A-Za-z0-9_-]{40}",
    ),
    provider("confluent-prefixed-secret", "Confluent secret", &["cflt"], "cflt[A-Za-z0-9+/]{60}"),
    provider("clickhouse-key", "ClickHouse Cloud key", &["4b1d"], "4b1d[A-Za-z0-9]{38}"),
    provider("aiven-token", "Aiven token", &["aivenv1"], "[Aa]ivenv1[A-Za-z0-9+/]{80,400}={0,2}"),
    provider("elastic-cloud-key", "Elastic Cloud key", &["essu_"], "essu_[A-Za-z0-9+/]{60,140}={0,2}"),
    provider(
        "vault-token",
        "HashiCorp Vault token",
        &["hvs.", "hvb.", "hvr."],
        r"hv[sbr]\.[A-Za-z0-9_-]{24,300}",
    ),
    provider(
        "terraform-token",
        "Terraform Cloud token",
        &[".atlasv1."],
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}",
    )
    .back(Back::Exactly(14)),
    provider("pulumi-token", "Pulumi token", &["pul-"], "pul-[a-f0-9]{40}"),
    provider(
        "doppler-token",
        "Doppler token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.said.", "dp.scim.", "dp.audit."],
        r"dp\.(?:pt|st|ct|sa|said|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    ),
    provider("infisical-token", "Infisical token", &["st."], r"st\.[a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}"),
    provider(
        "onepassword-service-token",
        "1Password service account token",
        &["ops_eyj"],
        "ops_eyJ[A-Za-z0-9+/_-]{100,2000}={0,3}",
    ),
    provider(
        "onepassword-secret-key",
        "1Password secret key",
        &["a3-"],
        "A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    provider(
        "tailscale-key",
        "Tailscale key",
        &["tskey-"],
        "tskey-(?:[a-z]{2,8}-)?[A-Za-z0-9]{6,24}-[A-Za-z0-9]{16,48}",
    ),
    provider("scaleway-key", "Scaleway key", &["scw"], "SCW[A-Z0-9]{17}").entropy(3000),
    provider("exoscale-key", "Exoscale key", &["exo"], "EXO[a-f0-9]{24}").entropy(3000),
    provider("ngrok-key", "ngrok key", &["ngrok_api_"], "ngrok_api_[A-Za-z0-9]{40,60}"),
    provider("render-api-key", "Render API key", &["rnd_"], "rnd_[A-Za-z0-9]{28,32}"),
    provider("scalingo-token", "Scalingo token", &["tk-us-"], "tk-us-[A-Za-z0-9_-]{48}"),
    provider("openshift-token", "OpenShift token", &["sha256~"], "sha256~[A-Za-z0-9_-]{43}"),
    provider(
        "defined-networking-key",
        "Defined Networking key",
        &["dnkey-"],
        "dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}",
    ),
    provider(
        "dynatrace-token",
        "Dynatrace token",
        &["dt0"],
        r"dt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}",
    ),
    provider(
        "grafana-service-token",
        "Grafana service account token",
        &["glsa_"],
        "glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}",
    ),
    provider("grafana-cloud-token", "Grafana Cloud token", &["glc_"], "glc_[A-Za-z0-9+/]{32,400}={0,3}"),
    provider("grafana-api-key", "Grafana API key", &["eyjrijoi"], "eyJrIjoi[A-Za-z0-9_-]{60,400}={0,3}"),
    provider(
        "new-relic-key",
        "New Relic key",
        &["nrak-", "nrii-", "nriq-", "nrra-", "nrbr-", "nrjs-", "nraa-"],
        "NR(?:AK|II|IQ|RA|BR|JS|AA)-[A-Za-z0-9_-]{19,42}",
    ),
    provider(
        "new-relic-license",
        "New Relic license key",
        &["nral"],
        "(?:eu01xx)?[a-f0-9]{30,36}(?:FFFF)?NRAL",
    )
    .back(Back::Run(40)),
    provider(
        "sentry-token",
        "Sentry token",
        &["sntrys_", "sntryu_", "sntrya_"],
        "(?:sntrys_[A-Za-z0-9+/=_-]{60,400}|sntry[ua]_[a-f0-9]{64})",
    ),
    provider(
        "honeycomb-key",
        "Honeycomb key",
        &["hcaik_", "hcaic_", "hcbik_", "hcamk_"],
        "hc[abcx](?:ik|ic|mk)_[A-Za-z0-9]{26,80}",
    ),
    provider(
        "sourcegraph-token",
        "Sourcegraph token",
        &["sgp_", "sgd_", "slk_"],
        "(?:sgp_(?:[a-f0-9]{16}_|local_)?|sgd_|slk_)[A-Fa-f0-9]{40,64}",
    ),
];
