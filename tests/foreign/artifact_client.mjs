// The official artifact client and the store's own library, as commands: arguments in, one JSON line out.
import { DefaultArtifactClient } from '@actions/artifact';
import { BlobServiceClient, BlobSASPermissions, StorageSharedKeyCredential } from '@azure/storage-blob';

const [command, ...args] = process.argv.slice(1);
const say = value => process.stdout.write(`\nRESULT ${JSON.stringify(value)}\n`);
const client = new DefaultArtifactClient();

const commands = {
    // A signed address for each name.
    async sign(url, account, key, ...names) {
        const service = new BlobServiceClient(url, new StorageSharedKeyCredential(account, key));
        const container = service.getContainerClient('artifacts');
        await container.createIfNotExists();
        const expiresOn = new Date(Date.now() + 3600_000);
        const signed = {};
        for (const name of names) {
            const blob = container.getBlockBlobClient(name);
            signed[name] = await blob.generateSasUrl({ permissions: BlobSASPermissions.parse('rcw'), expiresOn });
        }
        say(signed);
    },
    async list() {
        say((await client.listArtifacts()).artifacts);
    },
    async download(id, path, hash) {
        say(await client.downloadArtifact(Number(id), { path, expectedHash: hash }));
    },
    async upload(name, root, ...files) {
        try {
            say(await client.uploadArtifact(name, files, root, { retentionDays: 3 }));
        } catch (error) {
            say({ error: String(error.message) });
        }
    },
};

await commands[command](...args);
