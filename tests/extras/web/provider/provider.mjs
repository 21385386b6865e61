// A certified OpenID provider on 127.0.0.1: whoever signs in is called as they say. It prints its issuer.
// Words: the address of the page's way back, and the claims of accounts as JSON by their name.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [wayBack, accounts] = [process.argv[2], JSON.parse(process.argv[3])];
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      { client_id: "planwright", client_secret: "s".repeat(40), redirect_uris: [wayBack], scope: "openid email" },
    ],
    claims: { email: ["email", "email_verified"] },
    conformIdTokenClaims: false,
    cookies: { keys: ["a key of this test"] },
    pkce: { required: () => true },
    findAccount: (_, name) => ({ accountId: name, claims: () => ({ sub: name, ...accounts[name] }) }),
  });
  server.on("request", provider.callback());
  process.stdout.write(`${issuer}\n`);
});
