"""Fitting lenses: Jacobians against torch's own, gradients against autograd's, and runs that were stopped go on."""

from pathlib import Path

import pytest
import torch
from torch.func import jacrev
from torch.nn import functional as F

from headlight.model import Transformer, TransformerConfig
from headlight.model.base.errors import CheckpointError, InputError, TrainingError
from headlight.model.lens.files import read_lens, write_jacobian, write_tuned
from headlight.model.lens.fitting import check_fits
from headlight.model.lens.jacobian import prompt_jacobians
from headlight.model.nn.hooks import Edit, HookPoint
from headlight.model.training.lenses import mean_jacobian
from headlight.model.training.lenses.mean_jacobian import fit_jacobian
from headlight.model.training.lenses.rows import token_rows
from headlight.model.training.lenses.tuned import Translators, TunedRecipe, divergences, fit_tuned
from tests.places import DOCS, ROOT

N_LAYERS, D_MODEL, D_VOCAB = 3, 18, 37  # d_model is no multiple of the rows that travel together


def tiny(**settings: object) -> Transformer:
    torch.manual_seed(0)
    sizes = {"n_layers": N_LAYERS, "d_model": D_MODEL, "n_heads": 2, "d_head": 6, "n_ctx": 40, "d_vocab": D_VOCAB}
    model = Transformer(TransformerConfig(**{**sizes, **settings}))  # type: ignore[arg-type]
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model.requires_grad_(False)


def rows(count: int, n_pos: int = 21) -> torch.Tensor:
    return torch.randint(D_VOCAB, (count, n_pos), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("settings", [{}, {"positional_embedding_type": "rotary", "normalization_type": "RMS"}])
def test_a_prompts_jacobians_are_torchs(settings: dict[str, object]) -> None:
    model, tokens = tiny(**settings), rows(1, 19)[0]
    jacobians = prompt_jacobians(model, tokens, range(1, N_LAYERS))
    counted = slice(16, 18)  # the first 16 tokens and the last one do not count
    for state in range(1, N_LAYERS):
        name = f"blocks.{state}.hook_resid_pre"
        _, cache = model.run_with_cache(tokens[None], name)

        def final(resid: torch.Tensor, name: str = name) -> torch.Tensor:
            def put(activation: torch.Tensor, hook: HookPoint) -> torch.Tensor:
                return resid[None]

            return model(tokens[None], tap=Edit([((name,), put)]), stop_at_layer=N_LAYERS)[0, counted]

        whole = jacrev(final)(cache[name][0])  # [target, d_model, source, d_model]
        expected = whole[:, :, counted].sum(0).mean(1)
        # Sums of float32 in another order.
        torch.testing.assert_close(jacobians[state], expected, rtol=1e-4, atol=1e-5)


def test_without_layers_behind_it_the_jacobian_is_the_identity() -> None:
    """Layers that write nothing: each state is the final stream."""
    model = tiny()
    for name, parameter in model.named_parameters():
        if name.endswith(("W_O", "b_O", "W_out", "b_out")):
            parameter.zero_()
    jacobians = prompt_jacobians(model, rows(1)[0], range(1, N_LAYERS))
    for jacobian in jacobians.values():
        torch.testing.assert_close(jacobian, torch.eye(D_MODEL))


def test_prompts_too_short_to_count_are_refused() -> None:
    with pytest.raises(InputError, match="at least 18 tokens"):
        prompt_jacobians(tiny(), rows(1, 17)[0], [1])


def test_the_gradient_of_the_divergence_is_autograds() -> None:
    model, batch = tiny(), rows(2)
    translators = Translators(N_LAYERS, D_MODEL)
    for parameter in translators.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    torch.stack(divergences(model, translators, batch)).mean().backward()
    grads = [parameter.grad for parameter in translators.parameters()]
    translators.zero_grad()
    names = [f"blocks.{layer}.hook_resid_pre" for layer in range(N_LAYERS)]
    logits, cache = model.run_with_cache(batch, names)
    said = [model.to_logits(cache[name] + each(cache[name])) for name, each in zip(names, translators, strict=True)]
    losses = [F.kl_div(each.log_softmax(-1), logits.softmax(-1), reduction="none").sum(-1).mean() for each in said]
    torch.stack(losses).mean().backward()
    for mine, parameter in zip(grads, translators.parameters(), strict=True):
        # Sums of float32 in another order.
        torch.testing.assert_close(mine, parameter.grad, rtol=1e-4, atol=1e-6)


def test_a_stopped_mean_goes_on_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, prompts = tiny(), rows(5)
    monkeypatch.setattr(mean_jacobian, "EVERY", 2)
    whole = fit_jacobian(model, prompts, tmp_path / "whole")
    real, done = mean_jacobian.prompt_jacobians, list[int]()

    def killed(*args: object) -> dict[int, torch.Tensor]:
        done.append(1)
        if len(done) == 4:
            raise KeyboardInterrupt
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(mean_jacobian, "prompt_jacobians", killed)
    with pytest.raises(KeyboardInterrupt):
        fit_jacobian(model, prompts, tmp_path / "killed")
    again = fit_jacobian(model, prompts, tmp_path / "killed")
    for state, jacobian in whole.items():
        assert torch.equal(jacobian, again[state])
    assert len(done) == 4 + 3  # from the checkpoint after two on
    assert (tmp_path / "whole" / "log.csv").read_text() == (tmp_path / "killed" / "log.csv").read_text()
    with pytest.raises(TrainingError, match="other prompts"):
        fit_jacobian(model, prompts.flip(0), tmp_path / "killed")


def test_what_is_fitted_is_written_and_read_as_it_is_published(tmp_path: Path) -> None:
    model = tiny()
    recipe = TunedRecipe(model, rows(8), rows(2), steps=40, rows_a_step=4, seed=0)
    before = divergences(model, Translators(N_LAYERS, D_MODEL), rows(2))
    translators = fit_tuned(model, recipe, tmp_path / "run")
    after = divergences(model, translators, rows(2))
    assert all(a < b for a, b in zip(after, before, strict=True))
    write_tuned(tmp_path / "tuned", model, translators.state_dict(), "tiny")
    write_jacobian(tmp_path / "jacobian", fit_jacobian(model, rows(2), tmp_path / "sums"), 2, D_MODEL)
    tuned, jacobian = (read_lens(kind, tmp_path / kind) for kind in ("tuned", "jacobian"))
    resid = torch.randn(5, D_MODEL)
    # float16 has eleven bits.
    torch.testing.assert_close(tuned.carried(1, resid), resid + translators[1](resid), rtol=1e-2, atol=1e-2)
    assert tuned.metadata == {"model": "tiny"}
    assert jacobian.metadata == {"n_prompts": 2}
    for lens in (tuned, jacobian):
        check_fits(lens, model, "tiny")
    pickled = torch.load(tmp_path / "jacobian" / "lens.pt", weights_only=True)
    assert pickled["source_layers"] == [0, 1]
    # The safetensors beside them hold the same, and are all that is read where pickles are not.
    for layer, J in pickled["J"].items():
        assert torch.equal(jacobian.maps[layer + 1].W, J)
    state = torch.load(tmp_path / "tuned" / "params.pt", weights_only=True)
    assert torch.equal(tuned.maps[1].W, state["1.weight"])
    for kind, file in (("tuned", "params"), ("jacobian", "lens")):
        (tmp_path / kind / f"{file}.pt").rename(tmp_path / f"{file}.pt")
        assert (
            read_lens(kind, tmp_path / kind, allow_pickle=False).metadata == read_lens(kind, tmp_path / kind).metadata
        )
        (tmp_path / f"{file}.pt").rename(tmp_path / kind / f"{file}.pt")
        (tmp_path / kind / f"{file}.safetensors").unlink()
        assert read_lens(kind, tmp_path / kind).kind == kind
        with pytest.raises(CheckpointError, match=rf"{file}\.pt is a pickle.*writes {file}\.safetensors beside it"):
            read_lens(kind, tmp_path / kind, allow_pickle=False)


def test_rows_are_the_documents_one_behind_the_other() -> None:
    from headlight.model import load

    model = load("mini")
    texts = ["one two three", "four"] * 40
    text_rows = token_rows(model, texts, 2)
    expected = torch.cat([model.to_tokens(text, prepend_bos=True)[0] for text in texts])
    assert torch.equal(text_rows.flatten(), expected[: text_rows.numel()])
    with pytest.raises(TrainingError, match="2,560 are needed"):
        token_rows(model, texts[:3], 20)


@pytest.mark.thorough
def test_the_command_fits_and_writes_a_card(tmp_path: Path) -> None:
    import subprocess
    import sys

    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(page.read_text(encoding="utf-8") for page in sorted(DOCS.rglob("*.md"))))
    command = [sys.executable, "-m", "headlight.recipes.lenses", "mini", "--corpus"]
    command += [str(corpus), "--out", str(tmp_path / "out"), "--run", str(tmp_path / "run"), "--rows", "16"]
    command += ["--steps", "2", "--prompts", "2", "--held-out", "20"]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    assert "2 steps of 8 rows" in (tmp_path / "out" / "README.md").read_text()
