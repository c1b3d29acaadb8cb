"""Opening by name or path, what a source records, and damaged or hostile files."""

import gc
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from headlight.model import Source, embedded_models, load, save_gpt2
from headlight.model.base.errors import CheckpointError, ConfigError, HeadlightError, ModelNotFoundError
from headlight.model.base.files import read_json
from headlight.model.checkpoints import loading
from headlight.model.checkpoints.families import gpt2
from headlight.model.checkpoints.reference import reference
from headlight.model.text.id_tokenizer import IdTokenizer
from tests.examples import examples
from tests.model.checkpoints.test_folders import CASES
from tests.model.checkpoints.twins import noisy
from tests.model.oracles import ASKED, random_gpt2, random_model, random_tokens
from tests.model.text.test_tokenizer import small_backend


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random_gpt2().save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """The folder that holds tiny, in the place of the project's own models."""
    monkeypatch.setattr(loading, "EMBEDDED", folder.parent)
    return folder.parent


def test_embedded_models_open_by_name(embedded: Path, folder: Path) -> None:
    (embedded / "notes").mkdir()
    assert embedded_models() == {"tiny": folder}
    assert torch.equal(load("tiny")(random_tokens()), load(folder)(random_tokens()))


@pytest.mark.parametrize("name", embedded_models())
def test_the_project_s_own_models_open(name: str) -> None:
    model = load(name)
    assert (model.source.name, model.source.path, model.source.revision) == (name, embedded_models()[name], None)
    assert model.tokenizer


def test_mini_is_what_transformers_computes() -> None:
    model = load("mini")
    tokens = model.to_tokens("The cat sat.")
    assert model.to_string(tokens) == "The cat sat."
    # The card's bound; float32 sums in another order.
    torch.testing.assert_close(model(tokens), reference(model.source.path, tokens).logits, rtol=0, atol=1e-4)


def test_a_source_says_where_the_weights_came_from(folder: Path) -> None:
    weights = folder / "model.safetensors"
    source = load(str(folder)).source
    assert source == Source(str(folder), folder, "gpt2", (weights,), None)
    assert source.sha256 == hashlib.sha256(weights.read_bytes()).hexdigest()


def test_the_hash_of_shards_is_that_of_one_after_the_other(tmp_path: Path) -> None:
    random_gpt2().save_pretrained(tmp_path, max_shard_size="5KB")
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    whole = b"".join(shard.read_bytes() for shard in shards)
    assert load(tmp_path).source.sha256 == hashlib.sha256(whole).hexdigest()


def test_weights_are_hashed_when_asked_for_and_not_before(folder: Path) -> None:
    source = load(folder).source
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError):
        _ = source.sha256


def test_the_tokenizer_beside_the_weights_comes_with_the_model(folder: Path) -> None:
    assert isinstance(load(folder).tokenizer, IdTokenizer)
    random_gpt2(vocab_size=300).save_pretrained(folder)  # as many as the tokenizer has
    small_backend().save(str(folder / "tokenizer.json"))
    model = load(folder)
    assert model.to_string(model.to_tokens("the cat", prepend_bos=True)) == "<|endoftext|>the cat"
    assert model.to_str_tokens(" the") == [" the"]
    assert model.to_single_token(" the") == model.to_tokens(" the").item()


def test_settings_given_override_the_checkpoint_s(folder: Path) -> None:
    model = load(folder, eps=0.5, attention_dir="bidirectional")
    assert (model.cfg.eps, model.cfg.attention_dir, model.cfg.n_layers) == (0.5, "bidirectional", 2)


@pytest.mark.parametrize(
    "setting",
    [
        {"attn_only": True},
        {"normalization_type": "LNPre"},
        {"d_head": 5},
        {"d_vocab_out": 3, "tie_word_embeddings": False},
    ],
)
def test_settings_given_that_no_gpt2_can_have_are_refused(setting: dict[str, Any], folder: Path) -> None:
    with pytest.raises(ConfigError, match=f"A GPT-2 folder cannot hold .*{next(iter(setting))} = "):
        load(folder, **setting)


def test_settings_that_do_not_exist_are_refused_with_the_nearest(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"no setting 'act_function'\. Nearest: act_fn"):
        load(folder, act_function="relu")


def test_a_revision_belongs_to_a_hub_name(folder: Path) -> None:
    with pytest.raises(ConfigError, match="has no revisions; leave revision='main' out"):
        load(folder, revision="main")


@pytest.mark.parametrize(
    "name",
    [
        "minni",
        "gpt3",
        "",
        "no such thing",
        "x\0y",
        "~nobody/x/y",
        "a" * 5000,
        "../up",
        "a b/c",
        "a/b/c",
        "/a",
        "a/",
    ],
)
def test_an_unknown_name_is_refused_without_asking_the_hub(name: str, embedded: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"one of tiny, gpt2, .*owner/name"):
        load(name)


def test_the_nearest_names_are_given(embedded: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"'tinny'\. Nearest: tiny"):
        load("tinny")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("notes.txt", r"is a file of a kind that is not known\. What opens is a Hugging Face folder"),
        ("model.gguf", r"is cut short\. Copy or download it again"),
        ("weights.h5", "is weights of TensorFlow"),
        ("config.json", r"is a file that belongs to a model\. Give the folder that it lies in"),
        ("empty/", r"is not a model of a kind that is known: it has no config\.json\. What opens"),
        ("other/shared_vocabulary.json", r"holds weights of CTranslate2\. Open the Hugging Face folder that they were"),
        ("other/model.ckpt-100.index", r"holds weights of TensorFlow\. Open the Hugging Face folder"),
        ("first/bert_config.json", r"has bert_config\.json, .* in the place of config\.json\. Copy it to config"),
    ],
)
def test_what_is_no_model_is_called_what_it_is_in_a_sentence(name: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
    if not name.endswith("/"):
        path.write_text("{}")
    file_name = name.split("/")[0]
    with pytest.raises(CheckpointError, match=f"^{file_name} {said}") as refusal:
        load(tmp_path / file_name)
    assert len(str(refusal.value)) < 300


def test_of_a_trainings_checkpoints_the_last_is_named_first(tmp_path: Path) -> None:
    for step in (90, 1000, 200, 10):
        (tmp_path / f"run/checkpoint-{step}").mkdir(parents=True)
        (tmp_path / f"run/checkpoint-{step}/config.json").write_text("{}")
    said = r"Open checkpoint-1000 or checkpoint-200 or checkpoint-90 \(of 4\) in it"
    with pytest.raises(CheckpointError, match=said):
        load(tmp_path / "run")


def test_of_several_models_in_a_folder_one_is_to_be_chosen(tmp_path: Path) -> None:
    for name in ("en", "fr"):
        (tmp_path / "all" / "models" / name).mkdir(parents=True)
        (tmp_path / "all" / "models" / name / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"all is a folder around a model, .* Open models/en or models/fr in it"):
        load(tmp_path / "all")


def test_a_folder_around_one_model_means_that_model(folder: Path) -> None:
    """Three folders up as well, but not one that nobody sees."""
    outer = folder.parent / "outer"
    (outer / "a" / ".hidden").mkdir(parents=True)
    shutil.copytree(folder, outer / "a" / ".hidden" / "model")
    folder.rename(outer / "a" / "b")
    for path in (outer, outer / "a", outer / "a" / "b"):
        assert load(path).source.path == outer / "a" / "b"  # type: ignore[union-attr]


FOREIGN = {
    "Meta's Llama code": {"layers.0.attention.wq.weight": torch.ones(4, 4)},
    "OpenNMT": {"model": {"encoder.transformer.0.self_attn.linear_keys.weight": torch.ones(4, 4)}},
    "fairseq": {"model": {"encoder.layers.0.self_attn.k_proj.weight": torch.ones(4, 4)}, "extra_state": {}},
}


@pytest.mark.parametrize("program", FOREIGN)
def test_weights_of_another_program_are_called_that(program: str, tmp_path: Path) -> None:
    """By the file, and by the folder in which it is the only one."""
    file = tmp_path / "weights.pt"
    torch.save(FOREIGN[program], file)
    for path in (file, tmp_path):
        with pytest.raises(CheckpointError, match=rf"^weights\.pt holds weights of {program}, which are not read\. C"):
            load(path)


@pytest.mark.parametrize(("name", "called"), [("bert: tied", "bert"), ("llama: grouped", r"\w+ or .*\(of \d+\)")])
def test_the_tensors_of_a_folder_alone_need_its_settings(name: str, called: str, tmp_path: Path) -> None:
    """A state dict that Lightning wrote; GPT-2's opens with answers, of others nobody knows the number of heads."""
    state = {f"model.{key}": tensor for key, tensor in noisy(CASES[name]).state_dict().items()}
    torch.save({"state_dict": state, "epoch": 1}, tmp_path / "last.ckpt")
    said = rf"^last\.ckpt holds the tensors of a {called}, but not its settings\. Put them into a folder as pytorch"
    with pytest.raises(CheckpointError, match=said):
        load(tmp_path / "last.ckpt")


def test_of_a_folder_around_a_gguf_file_that_is_to_be_opened(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model.gguf")
    with pytest.raises(CheckpointError, match=r"but model\.gguf\. Open tiny/model\.gguf"):
        load(folder)


@pytest.mark.parametrize("file_name", ["tf_model.h5", "consolidated.safetensors"])
def test_a_folder_whose_weights_are_in_another_file_says_which(file_name: str, folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / file_name)
    with pytest.raises(
        CheckpointError, match=rf"but {file_name}, and no other format is read from a folder\. Load the"
    ):
        load(folder)


def test_a_config_that_names_no_architecture_is_told_from_one_that_is_unknown(folder: Path) -> None:
    (folder / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"has a config\.json without a model_type; its tensors .* of a gpt2"):
        load(folder)


POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'ab' * 32}\nsize 548105171\n"


@pytest.mark.parametrize(
    "name",
    [
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "merges.txt",
        "chat_template.jinja",
    ],
)
def test_a_pointer_of_git_lfs_is_called_that(name: str, folder: Path) -> None:
    (folder / "vocab.json").write_text("{}")  # so that the folder has a tokenizer
    (folder / name).write_text(POINTER)
    with pytest.raises(CheckpointError, match=rf"^{name} is a Git LFS pointer .* run `git lfs pull` in that folder"):
        load(folder)


def test_shards_adapters_and_files_alone_may_be_pointers_too(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model-1.safetensors"}}')
    (folder / "model-1.safetensors").write_text(POINTER)
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(POINTER)
    for name in ("toy.pt", "toy.safetensors"):
        (tmp_path / name).write_text(POINTER)
    other = [tmp_path / f"toy{suffix}" for suffix in (".bin", ".gguf", ".ckpt", ".npz")]
    for path in other:
        path.write_text(POINTER)
    for path in (folder, adapter, tmp_path / "toy.pt", tmp_path / "toy.safetensors", *other):
        with pytest.raises(CheckpointError, match="is a Git LFS pointer"):
            load(path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "model.gguf"])
@pytest.mark.parametrize("has_config", [True, False])
def test_a_pointer_is_named_before_the_format_that_it_stands_for(name: str, has_config: bool, folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / name).write_text(POINTER)
    if not has_config:
        (folder / "config.json").unlink()
    with pytest.raises(CheckpointError, match=rf"^{name} is a Git LFS pointer"):
        load(folder)


def test_another_architecture_is_refused(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "mamba"}')
    with pytest.raises(
        CheckpointError, match=r"tiny is a 'mamba', which is no kind .*; its tensors have the names of a gpt2"
    ):
        load(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '"gpt2"', "\x00", "[" * 100_000])
def test_a_config_that_is_no_json_object_is_refused(content: str, folder: Path) -> None:
    (folder / "config.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        load(folder)


def test_a_folder_without_safetensors_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "weights.bin")
    with pytest.raises(CheckpointError, match=r"neither model\.safetensors nor pytorch_model\.bin .*save_pretrained"):
        load(folder)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1, exclude_max=True))
def test_a_file_cut_short_anywhere_is_refused(folder: Path, share: float) -> None:
    weights = folder / "model.safetensors"
    if not (kept := folder / "kept").exists():
        shutil.copy(weights, kept)
    whole = kept.read_bytes()
    weights.unlink()  # a file that is mapped must not shrink under its map
    weights.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(CheckpointError, match=r"model\.safetensors cannot be read as safetensors"):
        load(folder)


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_header_is_refused_or_harmless(folder: Path, data: st.DataObject) -> None:
    """Bytes of the header are changed: what still opens has every tensor in its place."""
    weights = folder / "model.safetensors"
    if not (kept := folder / "kept").exists():
        shutil.copy(weights, kept)
    raw = bytearray(kept.read_bytes())
    header = 8 + int.from_bytes(raw[:8], "little")
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, header - 1))] = data.draw(st.integers(0, 255))
    weights.unlink()
    weights.write_bytes(raw)
    try:
        model = load(folder)
    except HeadlightError:
        return
    assert model(random_tokens()).shape == (2, 7, 19)


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"\xff" * 100, b"\x02\0\0\0\0\0\0\0{}", b"\x08\0\0\0\0\0\0\0[[[[[[[["]
)
def test_what_is_no_safetensors_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "toy.safetensors"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"toy\.safetensors|no embed\.W_E"):
        load(path, **ASKED)


@pytest.mark.parametrize(
    ("weight_map", "message"),
    [
        ({"wte.weight": "../elsewhere.safetensors"}, r"names '\.\./elsewhere\.safetensors'"),
        ({"wte.weight": "/etc/passwd"}, "names '/etc/passwd'"),
        ({"wte.weight": "sub/model.safetensors"}, r"may only name \.safetensors files beside itself"),
        ({"wte.weight": "pytorch_model.bin"}, r"may only name \.safetensors files"),
        ({"wte.weight": ".."}, r"may only name \.safetensors files"),
        ({"wte.weight": 3}, r"may only name \.safetensors files"),
        ({"wte.weight": "gone.safetensors"}, r"lacks gone\.safetensors"),
        ({}, "no weight_map"),
        (None, "no weight_map"),
        ([], "no weight_map"),
    ],
)
def test_an_index_may_only_name_files_beside_itself(weight_map: object, message: str, folder: Path) -> None:
    save_file({"wte.weight": torch.ones(19, 12)}, folder.parent / "elsewhere.safetensors")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(CheckpointError, match=message):
        load(folder)


def test_an_error_about_a_file_names_it_without_its_path(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"wte.weight": "gone.safetensors"}}')
    with pytest.raises(CheckpointError, match=r"lacks gone\.safetensors") as missing:
        load(folder)
    with pytest.raises(CheckpointError, match=r"gone\.json cannot be read") as unread:
        read_json(folder / "gone.json")
    assert not [error for error in (missing, unread) if str(folder) in str(error.value)]


def test_a_tensor_in_two_shards_is_refused(folder: Path) -> None:
    for name in ("a", "b"):
        shutil.copy(folder / "model.safetensors", folder / f"{name}.safetensors")
    (folder / "model.safetensors").unlink()
    index = {"weight_map": {"transformer.wte.weight": "a.safetensors", "transformer.wpe.weight": "b.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match="in several files the tensors transformer"):
        load(folder)


def test_saving_again_leaves_an_open_model_alone(tmp_path: Path) -> None:
    """A file that were rewritten in place would change, or crash, the model that maps it."""
    model = random_model(d_head=4, tie_word_embeddings=True)
    save_gpt2(model, tmp_path)
    opened, tokens = load(tmp_path), random_tokens()
    before = opened(tokens)
    save_gpt2(random_model(seed=1, d_head=4, tie_word_embeddings=True), tmp_path)
    assert torch.equal(opened(tokens), before)
    assert not torch.equal(load(tmp_path)(tokens), before)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


def test_a_classifier_says_what_it_is_and_what_to_open_instead(tmp_path: Path) -> None:
    """The project's own by its name, and any folder of one."""
    shutil.copy(loading.EMBEDDED / "subject-number" / "classifier.safetensors", tmp_path)
    for source in ("subject-number", tmp_path):
        with pytest.raises(CheckpointError, match=r"is a classifier.*open that model.*load_classifier"):
            load(source)


def test_pythons_collector_rests_while_a_model_is_read_and_works_again_whatever_came_of_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    working: list[bool] = []
    monkeypatch.setattr(gpt2, "check_depth", lambda *args: working.append(gc.isenabled()))
    load(folder)
    assert working == [False]
    assert gc.isenabled()
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError):
        load(folder)
    assert gc.isenabled()
