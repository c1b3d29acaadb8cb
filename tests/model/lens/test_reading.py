"""Lenses read from their published files, against their formats' forwards written out by hand, and what is refused."""

import json
import math
import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from torch.distributions import Categorical, kl_divergence

from headlight.model import Transformer, load, run_prompt
from headlight.model.base.errors import CheckpointError, InputError
from headlight.model.lens.files import read_lens
from headlight.model.lens.fitting import check_fits
from headlight.model.lens.held_out import measure, read
from headlight.model.lens.kinds import LOGIT, Affine, Kind, Lens
from headlight.model.lens.opening import beside, home, lens_of
from headlight.model.lens.run_lens import followed_probabilities, followed_ranks, logit_lens, mean_divergences
from headlight.model.runs.run import Run
from tests.places import MINI, ROOT

SHIPPED = ROOT / "assets" / "lenses"
PROMPT = "When Mary and John went to the store, John gave a drink to"
MODELS = ("mini", "mini-llama")


@pytest.fixture(scope="module", params=MODELS)
def run(request: pytest.FixtureRequest) -> Run:
    return run_prompt(load(request.param), PROMPT)


def by_transformers(run: Run, kind: Kind) -> list[torch.Tensor | None]:
    """The logits [pos, d_vocab] of every state, by transformers' own model and the file's format written out."""
    from transformers import AutoModelForCausalLM

    folder = SHIPPED / run.source.name / kind
    own = AutoModelForCausalLM.from_pretrained(run.source.path)
    names = {"gpt2": "ln_f", "llama": "norm"}
    norm = getattr(own.base_model, names[own.config.model_type])
    with torch.no_grad():
        inputs: list[torch.Tensor] = []
        norm.register_forward_pre_hook(lambda module, args: inputs.append(args[0][0]))
        states = own(run.tokens[None], output_hidden_states=True).hidden_states
        *before, _ = (state[0] for state in states)  # transformers gives the last one normalised
        if kind == "tuned":
            saved = torch.load(folder / "params.pt", weights_only=True)
            carried = [
                h + h @ saved[f"{i}.weight"].float().T + saved[f"{i}.bias"].float() for i, h in enumerate(before)
            ]
            return [own.lm_head(norm(h)) for h in [*carried, inputs[0]]]
        jacobians = torch.load(folder / "lens.pt", weights_only=True)["J"]
        through = [jacobians[layer].float() @ h.T for layer, h in enumerate(before[1:])]
        return [None, *(own.lm_head(norm(h.T)) for h in through), own.lm_head(norm(inputs[0]))]


@pytest.mark.parametrize("kind", ["tuned", "jacobian"])
def test_a_lens_is_what_its_published_file_says(run: Run, kind: Kind) -> None:
    by = lens_of(run, kind)
    lens, token = logit_lens(run, by), run.tokenizer.to_single_token(" Mary")
    expected = by_transformers(run, kind)
    final = Categorical(logits=expected[-1])
    followed, ranks = followed_probabilities(run, token, by).values, followed_ranks(run, token, by=by).values
    for state, logits in enumerate(expected):
        if logits is None:
            assert (lens.top_tokens.values[state] == -1).all()
            assert lens.kl_from_final.values[state].isnan().all()
            assert followed[state].isnan().all()
            assert (ranks[state] == -1).all()
            continue
        said = Categorical(logits=logits)
        # Two forward passes in float32, of logits up to 30; and a softmax in tiles instead of at once.
        torch.testing.assert_close(lens.kl_from_final.values[state], kl_divergence(final, said), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(lens.entropy.values[state], said.entropy(), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(followed[state], said.probs[:, token], rtol=1e-3, atol=1e-6)
        assert (lens.top_tokens.values[state, :, 0] == logits.argmax(-1)).float().mean() > 0.9  # but for ties
        assert (ranks[state] - 1 - (logits > logits[:, token, None]).sum(-1)).abs().max() <= 2  # likewise
    torch.testing.assert_close(mean_divergences(run, by).values, lens.kl_from_final.values.mean(1), equal_nan=True)


def test_the_last_state_is_read_as_the_logit_lens_reads_it(run: Run) -> None:
    own = logit_lens(run)
    for kind in ("tuned", "jacobian"):
        read_by = logit_lens(run, lens_of(run, kind))
        torch.testing.assert_close(read_by.top_probs.values[-1], own.top_probs.values[-1])
        assert (read_by.kl_from_final.values[-1] < 1e-5).all()  # nothing is lost there but by rounding


def test_an_identity_makes_either_lens_the_logit_lens(run: Run) -> None:
    n_layers, d_model = run.cfg.n_layers, run.cfg.d_model
    nothing = {state: Affine(torch.zeros(d_model, d_model), torch.zeros(d_model)) for state in range(n_layers)}
    same = {state: Affine(torch.eye(d_model)) for state in range(n_layers)}
    own = logit_lens(run).kl_from_final.values
    for by in (Lens("tuned", digest="zero", maps=nothing), Lens("jacobian", digest="one", maps=same)):
        torch.testing.assert_close(logit_lens(run, by).kl_from_final.values, own)


def test_the_shipped_lenses_lose_less_than_the_logit_lens_held_out(run: Run) -> None:
    assert beside(run.source) == ("logit", "tuned", "jacobian")
    card = read(home(run.source))
    assert card is not None
    tuned, jacobian, logit = (card.kl[kind] for kind in ("tuned", "jacobian", "logit"))
    for state in range(run.cfg.n_layers):
        assert tuned[state] < logit[state] / 2
        assert state == 0 or tuned[state] < jacobian[state] < logit[state]
    assert jacobian[0] is None


@pytest.mark.thorough
def test_the_cards_figures_are_measured_again() -> None:
    from headlight.recipes.lenses import HELD_OUT_ROWS, measured

    for name in MODELS:
        again, card = measured(load(name), SHIPPED / name, "", HELD_OUT_ROWS), read(SHIPPED / name)
        assert card is not None
        assert again.n_tokens == card.n_tokens
        for kind, values in card.kl.items():
            assert [value is None for value in again.kl[kind]] == [value is None for value in values]
            actual, known = ([value for value in each if value is not None] for each in (again.kl[kind], values))
            # Another machine adds float32 in another order, and may have another version of the library's text.
            assert actual == pytest.approx(known, rel=0.05, abs=1e-4), (name, kind)


def test_held_out_figures_are_means_over_tokens() -> None:
    model = load("mini")
    rows = torch.randint(0, model.cfg.d_vocab, (2, 9), generator=torch.Generator().manual_seed(0))
    figures = measure(model, [LOGIT], rows, "noise")
    with torch.no_grad():
        logits, cache = model.run_with_cache(rows)
        said = Categorical(logits=model.to_logits(cache["blocks.2.hook_resid_pre"]))
        kl = kl_divergence(Categorical(logits=logits), said)
    assert figures.n_tokens == 18
    assert figures.kl["logit"][2] == pytest.approx(kl.mean().item(), rel=1e-4)  # a softmax in tiles
    assert figures.agreement["logit"][2] == pytest.approx((said.logits.argmax(-1) == logits.argmax(-1)).float().mean())


def published(folder: Path, d_model: int = 128, n_layers: int = 4, **changes: object) -> Path:
    """A tuned lens as the package that made the format writes it: a ModuleList's state dict, and the config."""
    folder.mkdir(parents=True, exist_ok=True)
    translators = torch.nn.ModuleList(torch.nn.Linear(d_model, d_model) for _ in range(n_layers))
    torch.save(translators.state_dict(), folder / "params.pt")
    config = {"base_model_name_or_path": "x", "d_model": d_model, "num_hidden_layers": n_layers, "bias": True}
    (folder / "config.json").write_text(json.dumps(config | changes))
    return folder


def jacobian_file(path: Path, d_model: int = 128, layers: tuple[object, ...] = (0, 1, 2), **changes: object) -> Path:
    J = {layer: torch.eye(d_model, dtype=torch.float16) for layer in layers}
    torch.save({"J": J, "n_prompts": 3, "source_layers": list(layers), "d_model": d_model} | changes, path)
    return path


@pytest.fixture(scope="module")
def mini() -> Run:
    return run_prompt(load("mini"), "one two")


def test_published_files_open(mini: Run, tmp_path: Path) -> None:
    assert lens_of(mini, "tuned", str(published(tmp_path / "lens"))).reads(4) == (0, 1, 2, 3, 4)
    assert lens_of(mini, "jacobian", str(jacobian_file(tmp_path / "a.pt"))).reads(4) == (1, 2, 3, 4)
    (tmp_path / "folder").mkdir()
    some = jacobian_file(tmp_path / "folder" / "lens.pt", layers=(1,))
    assert lens_of(mini, "jacobian", str(some.parent)).reads(4) == (2, 4)


def test_a_lens_for_another_model_is_refused_by_what_does_not_fit(mini: Run, tmp_path: Path) -> None:
    for folder, said in {
        published(tmp_path / "wide", d_model=130): r"width 130; that of mini is 128. .* make fit-lens MODEL=mini",
        published(tmp_path / "deep", n_layers=5): "for 5 layers; mini has 4",
        published(tmp_path / "other", unembed_hash="0" * 64): "another unembedding than that of mini",
    }.items():
        with pytest.raises(InputError, match=said):
            lens_of(mini, "tuned", str(folder))
    with pytest.raises(InputError, match="layers up to L7; mini has 4"):
        lens_of(mini, "jacobian", str(jacobian_file(tmp_path / "j.pt", layers=(0, 7))))


def test_the_hash_of_the_unembedding_is_the_published_one() -> None:
    """What tuned_lens.utils.tensor_hash gives, written out: the hash of how numpy shows the matrix, to one digit."""
    from hashlib import sha256

    from transformers import AutoModelForCausalLM

    for name in MODELS:
        weight = AutoModelForCausalLM.from_pretrained(MINI.parent / name).get_output_embeddings().weight
        import numpy as np

        text = np.array_str(weight.detach().numpy(), precision=1)
        config = json.loads((SHIPPED / name / "tuned" / "config.json").read_text())
        assert config["unembed_hash"] == sha256(text.encode()).hexdigest()


def test_folded_weights_are_refused() -> None:
    from dataclasses import replace

    folded = Transformer(replace(load("mini").cfg, normalization_type="LNPre"))
    with pytest.raises(InputError, match="norms folded into its weights"):
        check_fits(read_lens("jacobian", SHIPPED / "mini" / "jacobian"), folded, "mini")


@pytest.mark.parametrize("kind", ["olmo", "nanochat"])
def test_norms_without_gains_by_design_are_not_taken_for_folded(kind: str, tmp_path: Path) -> None:
    """What is wrong with a lens of another model is said as for any model."""
    from transformers import CONFIG_MAPPING, AutoModelForCausalLM

    from tests.model.checkpoints.architectures.llama import SIZES

    config = CONFIG_MAPPING[kind](**SIZES)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=rf"is for a stream of width [\d,]+; that of {kind} is {config.hidden_size}"):
        check_fits(read_lens("jacobian", SHIPPED / "mini" / "jacobian"), load(tmp_path), kind)


class Attack:
    """What runs when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return print, ("run",)


def test_hostile_files_are_refused_unrun(mini: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.pt"
    wrong: list[tuple[object, str]] = [
        ({"J": {0: Attack()}, "d_model": 2}, "no tensor of float32"),
        ([1, 2], "holds list"),
        ({"d_model": 128}, "no matrices J"),
        ({"J": {0: torch.zeros(2, 2)}, "d_model": 10**30}, "has to be 1 to"),
        ({"J": {-1: torch.zeros(2, 2)}, "d_model": 2}, "names layers that are none"),
        ({"J": {"x": torch.zeros(2, 2)}, "d_model": 2}, "names layers that are none"),
        ({"J": {0: torch.zeros(2, 3)}, "d_model": 2}, r"shape \[2, 3\]; it has to be \[2, 2\]"),
        ({"J": {0: torch.full((2, 2), math.nan)}, "d_model": 2}, "NaN or infinite"),
        ({"J": {0: torch.zeros(2, 2, dtype=torch.long)}, "d_model": 2}, "no tensor of float32"),
        ({"J": {0: "text"}, "d_model": 2}, "no tensor of float32"),
        ({"J": {0: torch.zeros(1).expand(2**10, 2**10)}, "d_model": 2**10}, "more values than the file holds"),
        ({"J": {(0, 1): torch.zeros(2, 2)}, "d_model": 2}, "cannot be read"),
        ({"J": {0: torch.zeros(2, 2)}, "d_model": [2]}, "says 'list' for d_model"),
    ]
    for content, said in wrong:
        torch.save(content, bad)
        with pytest.raises(CheckpointError, match=said):
            read_lens("jacobian", bad)
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n"
    for described in (b"", b".", b"h\0.", b"}K\0s.", tensor + b")R.", b"]" * 2**16, b"\x8a\xff\0."):
        with zipfile.ZipFile(bad, "w") as archive:
            archive.writestr("lens/data.pkl", b"\x80\x02" + described)
        with pytest.raises(CheckpointError, match=r"bad\.pt cannot be read"):
            read_lens("jacobian", bad)
    for raw in (b"", b"text", pickle.dumps(Attack())):
        bad.write_bytes(raw)
        with pytest.raises(CheckpointError, match="cannot be read"):
            read_lens("jacobian", bad)
    assert "run" not in capsys.readouterr().out
    with pytest.raises(CheckpointError, match=r"has no config.json"):
        lens_of(mini, "tuned", str(tmp_path))
    with pytest.raises(CheckpointError, match="type 'other'"):
        read_lens("tuned", published(tmp_path / "type", lens_type="other"))
    with pytest.raises(CheckpointError, match=r"missing or too much are 4\.bias, 4\.weight"):
        read_lens("tuned", published(tmp_path / "few", num_hidden_layers=5))
    with pytest.raises(CheckpointError, match="There is no folder"):
        lens_of(mini, "tuned", "nowhere at all")


def test_what_lies_compressed_in_a_file_is_not_inflated(tmp_path: Path) -> None:
    """Forty times the file's size would be read before anything of it is known."""
    bad = tmp_path / "bad.pt"
    for content in (b"N" * 2**15, b"N" * 2**21):
        with zipfile.ZipFile(bad, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("lens/data.pkl", content)
        with pytest.raises(CheckpointError, match=r"bad\.pt (is compressed|describes its tensors in more)"):
            read_lens("jacobian", bad)


def test_a_file_that_shares_its_bytes_among_many_matrices_is_refused(tmp_path: Path) -> None:
    shared = torch.zeros(64, 64)
    torch.save({"J": dict.fromkeys(range(2), shared), "d_model": 64}, tmp_path / "two.pt")
    assert read_lens("jacobian", tmp_path / "two.pt").maps.keys() == {1, 2}
    torch.save({"J": {layer: shared.view(64, 64) for layer in range(9)}, "d_model": 64}, tmp_path / "nine.pt")
    with pytest.raises(CheckpointError, match=r"nine\.pt has tensors of more values than the file holds"):
        read_lens("jacobian", tmp_path / "nine.pt")
