"""What torch.save wrote: folders of transformers' models and files of today and of before 2020, as torch reads them."""

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM

from headlight.model import load, load_seq2seq
from headlight.model.base.errors import CheckpointError, TooLargeError
from headlight.model.base.torch_files import read_torch
from headlight.model.checkpoints.loading import estimate
from tests.model.checkpoints import seq2seq_twins
from tests.model.checkpoints.test_folders import CASES
from tests.model.checkpoints.twins import TOLERANCE, differences, noisy

PICKLED = "pytorch_model.bin"


def pickle_folder(folder: Path, theirs: Any, *, parts: int = 1, prefix: str = "", legacy: bool = False) -> None:
    """Write a model as transformers did before safetensors: its whole state dict, tied tensors and buffers too."""
    theirs.save_pretrained(folder)
    (folder / "model.safetensors").unlink()
    state = {prefix + name: tensor for name, tensor in theirs.state_dict().items()}
    names, weight_map = sorted(state), dict[str, str]()
    for part in range(parts):
        called = PICKLED if parts == 1 else f"pytorch_model-{part + 1:05}-of-{parts:05}.bin"
        shard = {name: state[name] for name in names[part::parts]}
        torch.save(shard, folder / called, _use_new_zipfile_serialization=not legacy)
        weight_map |= dict.fromkeys(shard, called)
    if parts > 1:
        (folder / f"{PICKLED}.index.json").write_text(json.dumps({"weight_map": weight_map}))


def assert_same(ours: Any, theirs: Any, case: Any) -> None:
    # Float32 sums in another order, as of the same models from safetensors.
    assert max(difference for _, difference in differences(case, ours, theirs)) <= TOLERANCE


@pytest.mark.parametrize("how", [{}, {"parts": 3}, {"legacy": True}, {"prefix": "module."}, {"prefix": "_orig_mod."}])
@pytest.mark.parametrize("name", ["llama: grouped", "gpt2: tied", "mixtral: two of three"])
def test_a_folder_of_pickles_is_the_model_that_transformers_saved(
    name: str, how: dict[str, Any], tmp_path: Path
) -> None:
    theirs = noisy(CASES[name])
    pickle_folder(tmp_path, theirs, **how)
    model = load(tmp_path)
    assert_same(model, theirs, CASES[name])
    assert model.source is not None
    assert {path.suffix for path in model.source.weights} == {".bin"}
    assert estimate(tmp_path).stored >= sum(tensor.nbytes for tensor in theirs.parameters())


def test_weights_are_mapped_where_they_lie(tmp_path: Path) -> None:
    pickle_folder(tmp_path, noisy(CASES["gpt2: tied"]))
    mapped = str(tmp_path / PICKLED)
    model = load(tmp_path)
    places = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(mapped)]
    ranges = [tuple(int(end, 16) for end in place[0].split("-")) for place in places]
    at = model.embed.W_E.data_ptr()
    assert any(begin <= at < end for begin, end in ranges)


def test_one_embedding_by_four_names_is_read(tmp_path: Path) -> None:
    theirs = seq2seq_twins.noisy(seq2seq_twins.CONFIGS["t5: tied"])
    pickle_folder(tmp_path, theirs)
    assert max(each for _, each in seq2seq_twins.differences(load_seq2seq(tmp_path), theirs)) <= TOLERANCE


def test_names_and_buffers_of_before_are_read(tmp_path: Path) -> None:
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20}
    torch.manual_seed(0)
    theirs = BertForMaskedLM(BertConfig(vocab_size=19, max_position_embeddings=16, **sizes)).eval()
    theirs.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    state = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in theirs.state_dict().items()
    }
    assert sum(name.endswith(".gamma") for name in state) == 6
    state["bert.embeddings.position_ids"] = torch.arange(16)[None]
    torch.save(state, tmp_path / PICKLED)
    tokens = torch.arange(7)[None]
    with torch.no_grad():
        torch.testing.assert_close(load(tmp_path)(tokens), theirs(tokens).logits, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["bart: tied", "mbart: tied"])
def test_what_fairseq_left_in_the_first_files_is_passed_over(name: str, tmp_path: Path) -> None:
    theirs = seq2seq_twins.noisy(seq2seq_twins.CONFIGS[name])
    pickle_folder(tmp_path, theirs)
    state = torch.load(tmp_path / PICKLED)
    versions = {f"model.{side}.version": torch.tensor([3.0]) for side in ("encoder", "decoder")}
    torch.save(state | versions, tmp_path / PICKLED)
    assert max(each for _, each in seq2seq_twins.differences(load_seq2seq(tmp_path), theirs)) <= TOLERANCE


def test_causal_masks_that_old_versions_stored_are_left_out(tmp_path: Path) -> None:
    theirs = noisy(CASES["gpt2: tied"])
    pickle_folder(tmp_path, theirs)
    state = torch.load(tmp_path / PICKLED)
    for layer in range(theirs.config.n_layer):
        state[f"transformer.h.{layer}.attn.bias"] = torch.ones(1, 1, 8, 8, dtype=torch.bool).tril()
        state[f"transformer.h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    torch.save(state, tmp_path / PICKLED)
    assert_same(load(tmp_path), theirs, CASES["gpt2: tied"])


def test_a_trainings_folder_and_a_file_of_a_model_mean_that_model(tmp_path: Path) -> None:
    theirs = noisy(CASES["gpt2: tied"])
    run = tmp_path / "run"
    pickle_folder(run / "checkpoint-500", theirs)
    for name in ("optimizer.pt", "scheduler.pt", "training_args.bin"):
        torch.save({"state": {}}, run / "checkpoint-500" / name)
    (run / "logs").mkdir()
    inside = run / "checkpoint-500"
    files = ("config.json", PICKLED, "optimizer.pt", "training_args.bin")
    for path in (run, inside, *(inside / name for name in files)):
        model = load(path)
        assert model.source is not None
        assert model.source.path == inside
        assert_same(model, theirs, CASES["gpt2: tied"])


def test_a_repository_in_the_hubs_cache_means_its_main_branch(tmp_path: Path) -> None:
    cache, commits = tmp_path / "models--a--b", ("a" * 40, "b" * 40)
    for commit in commits:
        pickle_folder(cache / "snapshots" / commit, noisy(CASES["gpt2: tied"]))
    with pytest.raises(CheckpointError, match=r"is a folder around a model, .* Open snapshots/a+ or snapshots/b+ in"):
        load(cache)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text(commits[1])
    assert load(cache).source.path.name == commits[1]  # type: ignore[union-attr]
    (cache / "refs" / "main").write_text("../../elsewhere")
    with pytest.raises(CheckpointError, match="is a folder around a model"):
        load(cache)


def test_an_index_of_pickles_names_pickles_beside_itself_alone(tmp_path: Path) -> None:
    pickle_folder(tmp_path, noisy(CASES["gpt2: tied"]), parts=2)
    index = tmp_path / f"{PICKLED}.index.json"
    for name in ("../x.bin", "model.safetensors", f"{PICKLED}.index.json"):
        index.write_text(json.dumps({"weight_map": {"wte.weight": name}}))
        with pytest.raises(CheckpointError, match=r"it may only name \.bin files beside itself"):
            load(tmp_path)


TENSORS = {
    "a": torch.arange(6.0).reshape(2, 3),
    "b": torch.arange(5, dtype=torch.float16),
    "c": torch.arange(4).bool(),
    "d": torch.arange(9.0, dtype=torch.float64).reshape(3, 3).T,
}
SHARED: dict[str, Any] = {**TENSORS, "view": TENSORS["d"][1:], "step": 3, "names": ["x", ("y", 2.5, None)]}


@pytest.mark.parametrize("is_zip", [True, False])
def test_what_torch_saved_is_read_as_torch_reads_it(is_zip: bool, tmp_path: Path) -> None:
    torch.save(SHARED, tmp_path / "x.pt", _use_new_zipfile_serialization=is_zip)
    ours, theirs = read_torch(tmp_path / "x.pt"), torch.load(tmp_path / "x.pt")
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        if isinstance(value, Tensor):
            assert torch.equal(ours[name], value)
            assert ours[name].stride() == value.stride()
            assert ours[name].data_ptr() % value.itemsize == 0  # products want numbers where such may begin
        else:
            assert ours[name] == value
    assert ours["view"].untyped_storage().data_ptr() == ours["d"].untyped_storage().data_ptr()


def test_a_file_of_before_2020_larger_than_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save(SHARED, tmp_path / "x.pt", _use_new_zipfile_serialization=False)
    monkeypatch.setattr("headlight.model.base.memory.free", lambda: 100)
    with pytest.raises(TooLargeError, match=r"x\.pt is in torch's format of before 2020"):
        read_torch(tmp_path / "x.pt")


def test_objects_beside_the_tensors_are_never_made(tmp_path: Path) -> None:
    class Code:
        def __reduce__(self) -> tuple[Any, ...]:
            return shutil.rmtree, (str(tmp_path),)

    theirs = noisy(CASES["gpt2: tied"])
    for is_zip in (True, False):
        folder = tmp_path / str(is_zip)
        pickle_folder(folder, theirs)
        content = {"args": Code(), "path": Path("x"), "state_dict": theirs.state_dict()}
        torch.save(content, folder / PICKLED, _use_new_zipfile_serialization=is_zip)
        assert_same(load(folder), theirs, CASES["gpt2: tied"])


def test_a_whole_model_is_called_that(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(2, 2), tmp_path / "x.pt")
    with pytest.raises(CheckpointError, match=r"holds no state dict but a pickled object, such as a whole model"):
        load(tmp_path / "x.pt")


def test_a_pickle_of_another_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pkl").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(CheckpointError, match=r"x\.pkl cannot be read as a state dict"):
        load(tmp_path / "x.pkl")


@pytest.mark.parametrize(("n_names", "is_read"), [(4, True), (5, False)])
def test_a_tensor_has_no_more_names_than_t5s_embedding(n_names: int, is_read: bool, tmp_path: Path) -> None:
    shared = torch.randn(64, 64)
    torch.save({f"name {number}": shared[:] for number in range(n_names)}, tmp_path / "model.pt")
    if is_read:
        assert all(torch.equal(tensor, shared) for tensor in read_torch(tmp_path / "model.pt").values())
    else:
        with pytest.raises(CheckpointError, match="more values than the file holds"):
            read_torch(tmp_path / "model.pt")
