// Links that open a page here at once, and that the browser can open elsewhere. Where they do not fit beside each other
// each group is a list; where these do not fit, all are one.

/** @typedef {[slug: string, title: string][]} Pages */
/**
 * @typedef {{ groups: [name: string, pages: Pages][], current: string, status: string, ofHead: Pages,
 *   picture: string | null }} NavProps of
 *   nav_bar/__init__.py
 */

// Takes the room of a name without saying it.
/** @param {string} name */
function ghostOf(name) {
  const ghost = element("span", "ghost");
  ghost.dataset.name = name;
  return ghost;
}

/** @implements {Component} */
class NavBar {
  listeners = { open: (/** @type {HeadMenuCall} */ call) => this.menu.open(call) };
  /** @type {NavProps["groups"]} */
  groups = [];
  /** @type {Map<string, string>} */
  titles = new Map(); // by slug
  current = "";
  status = "";
  folded = false;
  /** @type {number | null} */
  width = null;
  theme = ""; // in which it was drawn last
  /** @type {Map<HTMLAnchorElement, string>} */
  slugs = new Map(); // of the links

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.title = element("h1", "live"); // for a screen reader's outline: others see the marked link
    this.nav = element("nav");
    this.nav.ariaLabel = "Pages";
    for (const event of ["pointerover", "focusin"]) this.nav.addEventListener(event, () => this.address());
    const home = element("a", "home"); // lies over the logo, which is Streamlit's and leads nowhere
    home.href = location.pathname;
    home.ariaLabel = home.title = "Start again with the first example";
    this.copy = new CopyPicture(view);
    view.root.append(home, this.title, this.nav, this.copy.button);
    const isPage = (/** @type {string} */ slug) => this.titles.has(slug);
    tellOfStopping((text) => view.announce(text));
    this.menu = new HeadMenu(view, isPage, (slug, head) => this.view.report([slug, Date.now(), head]));
  }

  /** @param {NavProps} props */
  update({ groups, current, status, ofHead, picture }) {
    this.copy.offer(picture);
    this.menu.entries = ofHead;
    if (this.view.link.latest("offered") !== ofHead.length > 0) this.view.link.send("offered", ofHead.length > 0);
    const titles = new Map(groups.flatMap(([, pages]) => pages));
    const isLeft = this.current && this.current !== current;
    const news = [isLeft && titles.get(current), status !== this.status && status].filter(Boolean);
    if (news.length > 0) this.view.announce(news.join(". "));
    if (JSON.stringify(groups) !== JSON.stringify(this.groups)) this.width = null;
    Object.assign(this, { groups, titles, current, status });
  }

  /** @param {Theme} theme @param {number} width */
  draw(theme, width) {
    // The server makes plots, in the theme that it heard of last. No page is named: one may have gone back meanwhile.
    if (this.theme && this.theme !== theme.id) this.view.report(["", Date.now()]);
    this.theme = theme.id;
    if (width !== this.width) this.lay();
    this.width = width;
    this.mark();
  }

  // A link stays the same as long as the width does, and with it the keyboard's focus.
  lay() {
    const { groups, titles } = this;
    /** @type {(() => HTMLElement[])[]} */
    const ways = [
      () => groups.flatMap(([name, pages]) => [...(name ? [element("span", "rule")] : []), ...this.links(pages)]),
      () => groups.flatMap(([name, pages]) => (name ? [this.list(name, pages)] : this.links(pages))),
      () => [this.list("", [...titles])],
    ];
    for (const way of ways) {
      this.folded = way === ways.at(-1);
      this.nav.classList.toggle("folded", this.folded);
      this.nav.classList.toggle("tight", way !== ways[0]);
      this.slugs.clear();
      this.nav.replaceChildren(...way());
      if (this.nav.scrollWidth <= this.nav.clientWidth) break;
    }
    this.address();
  }

  /** @type {(pages: Pages) => HTMLElement[]} */
  links(pages) {
    return pages.map(([slug, title]) => {
      const link = element("a", "page", title);
      this.slugs.set(link, slug);
      link.onclick = (event) => this.follow(event, slug);
      return link;
    });
  }

  // A button and the list that it opens. It has room for all that it may say, so that nothing moves from page to page.
  /** @param {string} name @param {Pages} pages */
  list(name, pages) {
    const button = element("button", "page");
    const names = element("span", "names");
    names.append(element("span", "", name), ...pages.map(([, title]) => ghostOf(title)), ghostOf(name));
    button.append(names);
    button.dataset.group = name;
    const list = element("div", "list");
    list.append(...this.links(pages));
    opens(button, list);
    const group = element("div", "group");
    group.append(button, list);
    return group;
  }

  // The page that is shown, and the list that it is in.
  mark() {
    this.title.textContent = this.titles.get(this.current) ?? "";
    for (const [link, slug] of this.slugs) link.ariaCurrent = slug === this.current ? "page" : null;
    for (const button of this.nav.querySelectorAll("button")) {
      const page = button.parentElement?.querySelector("a[aria-current]")?.textContent ?? "";
      const { group = "" } = button.dataset;
      button.querySelector("span span")?.replaceChildren(page || group);
      button.ariaCurrent = page ? "true" : null;
      button.ariaLabel = page && group ? `${group}: ${page}` : null;
    }
  }

  // Where a link leads that is opened elsewhere: to the same selection on another page.
  address() {
    for (const [link, slug] of this.slugs) {
      const query = new URLSearchParams(location.search);
      query.set("page", slug);
      link.href = `?${query}`;
    }
  }

  /** @param {MouseEvent} event @param {string} slug */
  follow(event, slug) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const open = /** @type {HTMLElement | null} */ (this.nav.querySelector(":popover-open"));
    open?.hidePopover();
    if (slug === this.current) return;
    this.current = slug;
    this.mark();
    this.view.announce(this.titles.get(slug) ?? "");
    this.view.report([slug, Date.now()]);
  }
}
