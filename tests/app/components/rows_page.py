"""A Streamlit page with a table, its list changed by buttons, and what it returns as text; the URL may say how long."""

from dataclasses import replace

import streamlit as st

from headlight.app.components import Column, Table, row_table
from tests.app.components import rows

st.set_page_config(layout="wide")
epoch = st.session_state.setdefault("epoch", 0)
columns = rows.many(int(st.query_params["many"])) if "many" in st.query_params else rows.COLUMNS
if "kinds" in st.query_params:
    columns = rows.KINDS
if "two" in st.query_params:
    columns = rows.TWO_LONG
if "phone" in st.query_params:
    columns = rows.OF_A_PHONE
if st.toggle("other values"):
    columns = [columns[0], replace(columns[1], cells=list(range(len(columns[1].cells)))), *columns[2:]]
if st.toggle("first two", on_change=lambda: st.session_state.update(epoch=epoch + 1)):
    columns = [Column(each.name, each.cells[:2], each.decimals, each.help) for each in columns]
epoch = st.session_state["epoch"]
choosable = st.query_params.get("choosable", "yes") == "yes"
chosen = row_table(
    Table(columns, title="Some fruit"), epoch=epoch, key="rows", choosable=choosable, whole="kinds" in st.query_params
)
st.text(f"chosen {chosen}")
