// The network as the router last reported it, and the routers and links that were there before.

const linkKey = (a, b) => JSON.stringify(a < b ? [a, b] : [b, a]);

export class NetworkState {
  constructor() {
    this.own = "";
    this.network = "";
    this.routers = new Map(); // by name: {name, state: "up" | "silent" | "gone", info}
    this.links = new Map(); // by key: {a, b, state: "up" | "gone", rates: messages per second by sender, length}
  }

  /** Take a new report; return what has changed, in words. */
  update(report) {
    const first = this.routers.size === 0;
    const news = [];
    this.own = report.router;
    this.network = report.network;
    const before = new Map([...this.routers].map(([name, router]) => [name, router.state]));
    for (const router of this.routers.values()) router.state = "gone";
    for (const info of report.routers) {
      const state = info.answers ? "up" : "silent";
      const known = this.routers.get(info.router);
      this.routers.set(info.router, { name: info.router, state, info: info.answers || !known ? info : known.info });
    }
    for (const { name, state } of this.routers.values()) {
      if (before.get(name) === state || first) continue;
      news.push(`Router ${name} ${{ up: "is up", silent: "does not answer", gone: "is gone" }[state]}.`);
    }
    this.#updateLinks(report.routers);
    return news;
  }

  #updateLinks(routers) {
    for (const link of this.links.values()) Object.assign(link, { state: "gone", rates: new Map() });
    for (const { router, answers, neighbours } of routers) {
      if (!answers) continue;
      for (const { name, in_per_s, out_per_s, length } of neighbours) {
        const key = linkKey(router, name);
        const [a, b] = JSON.parse(key);
        const link = this.links.get(key) ?? { a, b, rates: new Map() };
        link.state = "up";
        link.length = length;
        link.rates.set(router, out_per_s);
        if (!link.rates.has(name)) link.rates.set(name, in_per_s);
        this.links.set(key, link);
        if (!this.routers.has(name)) this.routers.set(name, { name, state: "silent", info: null });
      }
    }
  }

  /** Return the routers that answer. */
  get answering() {
    return [...this.routers.values()].filter((router) => router.state === "up");
  }

  /** Return a sum over the routers that answer. */
  total(member) {
    return this.answering.reduce((sum, { info }) => sum + (info[member] ?? 0), 0);
  }
}
