"""A page with as little as a page can have: what the same acts cost in Streamlit itself, on the machine at hand.

The acts and marks are those of Headlight's page (ui.py, watch.js), so its one component has the same parts by name: a
board to click, a frame around what was clicked, a picture drawn when the server has answered, a tooltip at the pointer.

Nothing of Headlight is imported, for after each run Streamlit looks through all that is imported for garbage.
"""

import streamlit as st

HTML = """<figure class="panel">
    <div class="board"><canvas width="400" height="400"></canvas><div class="frames"></div></div>
    <div class="tooltip" popover="manual">0</div>
</figure>"""
CSS = ".board { width: 400px; } .frame { position: absolute; inset: 0; border: 2px solid; pointer-events: none; }"
JS = """export default function ({ parentElement, data, setStateValue }) {
    const [board, canvas, frames, tooltip] = [".board", "canvas", ".frames", ".tooltip"].map((name) =>
        parentElement.querySelector(name),
    );
    board.onclick = () => {
        if (frames.firstChild) frames.replaceChildren();
        else frames.append(Object.assign(document.createElement("div"), { className: "frame" }));
        setStateValue("value", { clicks: (data.clicks ?? 0) + 1 });
    };
    board.onpointermove = ({ clientX, clientY }) => {
        if (!tooltip.matches(":popover-open")) tooltip.showPopover();
        tooltip.style.translate = `${clientX}px ${clientY}px`;
    };
    board.onpointerleave = () => tooltip.hidePopover();
    if (board.shown === JSON.stringify(data)) return;
    board.shown = JSON.stringify(data);
    requestAnimationFrame(() => canvas.getContext("2d").fillRect(0, 0, 400, 400));
}"""

picture = st.components.v2.component("headlight.floor", html=HTML, css=CSS, js=JS)


def main() -> None:
    """Two pages of the same: a prompt to run and a picture."""
    st.set_page_config(layout="wide")
    pages = [st.Page(lambda: None, title=title, url_path=title.lower()) for title in ("First", "Second")]
    page = st.navigation(pages, position="top")
    with st.form("bar", border=False):
        st.text_area("Prompt", key="prompt")
        with st.container(key="headlight-bar"):
            st.form_submit_button("Run")
    _content(page.title)


@st.fragment
def _content(title: str) -> None:
    state = st.session_state.get("picture")
    clicks = state["value"]["clicks"] if state and state.get("value") else 0
    data = {"title": title, "prompt": st.session_state["prompt"], "clicks": clicks}
    picture(key="picture", data=data, on_value_change=lambda: None)


main()
