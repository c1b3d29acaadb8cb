"""The terms on the pages, each in a sentence or two for somebody who meets it for the first time."""

TERMS = {
    "attention": (
        "For each query position a head spreads a total weight of 1 over the key positions it may attend to. Row: the"
        " query, the token that looks. Column: the key, the token it looks at."
    ),
    "bos": (
        "Puts the model's beginning-of-sequence token before the prompt. GPT-2's heads rest on it when they have "
        "nothing to do (an attention sink); without it they rest on the first word."
    ),
    "begin": (
        "What stands before the prompt: the model's beginning-of-sequence token, or nothing. Chat template: the prompt "
        "is what a user says, with all that the model's template puts around it, up to where its answer begins. "
        "All as text: the spelling of a special token is text like any other, not that token."
    ),
    "head": "L2H1 is head 1 of layer 2. Layers and heads are counted from 0.",
    "entropy": (
        "How spread out the attention weights of a row are, averaged over the rows: 0 nats is a single token, log n "
        "is n tokens equally."
    ),
    "mean_distance": "How many tokens back a head attends on average, weighted by its attention.",
    "previous_token": "The mean attention weight on the token just before the query.",
    "first_token": "The mean attention weight on the very first token, the usual attention sink.",
    "current_token": "The mean attention weight on the query's own token.",
    "duplicate_token": (
        "The mean attention weight on earlier copies of the query's token. Empty if no token occurs twice."
    ),
    "induction": (
        "The mean attention weight on the token that followed an earlier copy of the current token: the move that "
        "continues a repeated phrase. Empty if no token occurs twice."
    ),
    "value_weighted": (
        "The largest value-weighted attention of this head's cells, weight × ‖v W_O‖ (L2 norm): a bright cell writes "
        "little if the value behind it is small."
    ),
    "show": (
        "Attention weight: the share of its attention that the query gives to the key. Attention score: the number "
        "before the softmax. Value-weighted attention: the weight times the norm of what the key's value writes to "
        "the residual stream. Disagreement: the weight minus the key's share of all that is written; large where a "
        "bright cell does little."
    ),
    "sink": (
        "Many heads rest on the first token when they have nothing to do. Hidden: its column is not shown. "
        "Renormalised: the other weights of each row are rescaled to add up to 1."
    ),
    "unit": (
        "Attention weights are summed over the key tokens of a word or sentence and averaged over its query tokens: "
        "rows still add up to 1."
    ),
    "own_scale": (
        "On: each head's colours run to its own largest cell. Off: all heads share one scale, so that colours compare."
    ),
    "table": "Numbers in place of pictures, for screen readers and for reading off exact values.",
    "sort": "Puts the heads with the largest score first. Scores are those of whole rows, the first token included.",
    "divergence": (
        "How differently a head attends in A and B: the mean Jensen–Shannon divergence (nats) of the rows that both "
        "have. 0: identical. 0.69 (log 2): nothing in common."
    ),
    "js": (
        "The Jensen–Shannon divergence between two heads' rows, on average, in nats. 0: they look at the same tokens "
        "with the same weights. 0.69 (log 2): at entirely different ones."
    ),
    "align": (
        "How the two prompts' tokens are aligned. Same tokens: as many equal tokens as possible are matched in order,"
        " the rest stands alone, marked − (only A) or + (only B). Same position: the first with the first, and so on."
    ),
    "scale": (
        "The square root makes small weights visible; linear shows them as they are. The numbers shown are always the"
        " weights themselves."
    ),
    "prompt_files": (
        "Other columns or keys of a file are kept as labels. Every prompt that you run joins the list; the list lasts"
        " as long as this browser tab."
    ),
    "over_prompts": (
        "Each prompt counts once, and only if it has such a token at all. The standard deviation is the sample's (n −"
        " 1)."
    ),
    "past_runs": "Up to 20. Going back restores everything that was chosen with that run, and its page.",
    "residual": (
        "The vector that each token carries through the model. Every layer's attention and MLP read from it and add "
        "to it; the next token is read off its final state."
    ),
    "norm": "The L2 norm of the residual stream: the square root of the sum of its squared entries.",
    "cosine": "Cosine similarity of the residual stream at two layers. 1: the same direction. 0: orthogonal.",
    "share": (
        "The part of the final residual stream that comes from one component, measured along the final vector. The "
        "shares at a position add up to 1; a negative share was cancelled by others."
    ),
    "lens": (
        "The logit lens: what the model would predict if it stopped after this layer. The residual stream there is "
        "read by the final LayerNorm and the unembedding."
    ),
    "lens_kind": (
        "What carries a layer's state to the end before it is read. Logit: nothing, it is read as it is. Tuned: an "
        "affine map for each layer, trained to say what the model will say. Jacobian: the mean effect of the layer's "
        "state on the final one."
    ),
    "lens_from": (
        "The folder or hub name of a published or fitted lens, or a Jacobian lens's .pt file; empty for the one beside "
        "the model. For a space: spaces/owner/name/folder."
    ),
    "lens_tuned": (
        "The tuned lens (Belrose et al. 2023): an affine map for each layer, trained so that the final LayerNorm and "
        "the unembedding read from its result what the model will predict in the end. It can know more than the layer "
        "itself uses."
    ),
    "lens_jacobian": (
        "The Jacobian lens: the layer's state times the mean Jacobian of the final stream, of this position and all "
        "later ones, with respect to it; a mean over positions and prompts. To first order, what the state "
        "will have done to the end of the stream."
    ),
    "patchscope": (
        "Patchscopes (Ghandeharioun et al. 2024): the chosen state takes the place of a state of another prompt, and "
        "what the model then says tells what the state holds. The default prompt asks it to repeat what it is given."
    ),
    "scope_prompt": "The prompt that the state is put into. Leave it empty for the one that asks to repeat.",
    "scope_position": "The token of the prompt whose state is replaced: the last, unless you choose another.",
    "scope_layer": "After which layer the prompt's state is replaced: the same that the state is from, or another.",
    "scope_tokens": "How many tokens the model writes behind the prompt, each the likeliest.",
    "lens_top": "The probability of the token that this layer ranks first.",
    "lens_target": "The probability that each layer gives to the token you follow.",
    "lens_rank": "The rank of the token you follow: 1 is the most likely.",
    "lens_entropy": (
        "The entropy of the layer's prediction: 0 nats if one token is certain, log n if n tokens are equally likely."
    ),
    "lens_kl": (
        "KL(final ‖ layer) in nats: what is lost by taking this layer's prediction for the final one. 0: the layer "
        "already predicts what the model will."
    ),
    "inside": (
        "All that one head computes for one query, step by step. Every matrix is the model's own; shapes are rows × "
        "columns. Point at a picture for its numbers; choose a key or a component to follow that one."
    ),
    "inside_head": "L2H1 is head 1 of layer 2. Layers and heads are counted from 0.",
    "inside_query": "The query position: the steps are those that make the head's output there.",
    "inside_key": "The key position whose score, weight and value are spelled out below.",
    "inside_component": "Which number of the vectors q and k is spelled out, and of v and z as far as they have it.",
    "inside_convention": (
        "The same numbers, laid out in two ways. In code a token is usually a row, and q = x W_Q. In mathematics a "
        "vector is usually a column, and q = W x, where W is W_Q transposed: W_Qᵀ."
    ),
    "inside_side": "A, B, or B − A of the result of each step, where both have the same shape.",
    "layer_norm": (
        "Subtracts the vector's mean, divides by its standard deviation, then multiplies by a gain and adds a bias, "
        "entry by entry. So the head reads the vector's direction, hardly its norm."
    ),
    "rms_norm": (
        "Divides by the root of the vector's mean square, then multiplies by a gain, entry by entry. Nothing is "
        "subtracted. So the head reads the vector's direction, hardly its norm."
    ),
    "compared": (
        "Rotary positions turn pairs of components by an angle that grows with the position, so that a dot product "
        "depends on how far apart query and key stand. Some models normalise each query and key before that."
    ),
    "position_bias": "What the model adds to a score for how far away the key stands; with ALiBi, less the farther.",
    "soft_cap": "c tanh(score / c): small scores stay as they are, and none gets beyond c.",
    "query": "A short vector computed from the residual stream by W_Q of this head: what the token is looking for.",
    "key": "A short vector computed from each token's residual stream by W_K: what it can be found by.",
    "dot_product": (
        "Multiply two vectors entry by entry and add up. Large where they point the same way, negative where they "
        "point apart."
    ),
    "attn_scale": (
        "The square root of d_head. Without it the dot products of wide vectors are so large that the softmax gives "
        "everything to one token."
    ),
    "mask": "A score of −∞ becomes a weight of exactly 0, so that no query sees the tokens after it.",
    "softmax": "Turns any scores into positive weights that add up to 1: exp of each, divided by the sum of all.",
    "value": "A third short vector of each token, by W_V: what it hands over to the queries that attend to it.",
    "weighted_sum": "Each value times its attention weight, summed: the head's z, before W_O.",
    "head_output": (
        "z times the head's own part of W_O. All heads of the layer and the bias b_O, if the model has one, are "
        "added up, and the sum is added to the residual stream."
    ),
    "generate": (
        "The model gives every token of its vocabulary a probability of coming next. One is sampled and appended, and"
        " the model is run again."
    ),
    "n_new": "How many tokens are generated after the prompt, including those that you put there.",
    "temperature": (
        "The logits are divided by it before the softmax. Below 1 likely tokens become likelier; above 1 all become "
        "more alike; 0 always takes the likeliest (greedy)."
    ),
    "top_k": "Only this many of the likeliest tokens can be sampled. Empty: all can.",
    "top_p": (
        "Only the smallest set of likeliest tokens that together reach this probability can be sampled (the nucleus),"
        " counted after the temperature. 1: all can."
    ),
    "seed": "The random seed: the same seed samples the same tokens again, so that a link shows the same text.",
    "stop": (
        "Ends the text at a token that the model ends texts or answers with, instead of going on after it: those of "
        "generation_config.json, of the tokenizer and of the chat template."
    ),
    "b_writes": (
        "B reads the tokens of A (teacher forcing): every step is then of the same text after both prompts and the "
        "distributions can be compared one to one. Or B generates its own tokens with the same seed: after the first "
        "that differs, the two distributions follow different texts."
    ),
    "apart": (
        "The Jensen–Shannon divergence of two distributions over the next token: 0 nats where they are the same, log "
        "2 = 0.693 nats where no token is likely in both."
    ),
    "finder": (
        "What each head of the loaded model does, measured on many sequences. A score is the mean attention weight "
        "that a head's queries put on one kind of token; the interval is where its mean over all such sequences lies "
        "with 95% confidence (Student's t over sequences)."
    ),
    "finder_data": (
        "Random tokens repeated once: only a head that finds the first copy can predict the second, and no habit of "
        "the language helps. Your prompts: what the heads do on the text that you care about."
    ),
    "finder_seed": "Another seed draws other random tokens. What is true of the model stays.",
    "finder_count": "How many sequences are drawn. More make the intervals narrower, and take longer.",
    "finder_half": "How many different random tokens a sequence has; they occur twice in it, in the same order.",
    "finder_change": (
        "B − A, over the same sequences on both sides: the interval is that of the mean difference from sequence to "
        "sequence (Student's t). A change is significant where the interval does not contain 0. Ranks are by the size"
        " of the change."
    ),
    "finder_top": "How many heads are numbered in the map and listed in the table.",
    "local_window": (
        "The mean attention weight on the query's own token and the four before it, where there are more than these."
    ),
    "punctuation": (
        "The mean attention weight on earlier tokens that are nothing but punctuation. Empty if there is none."
    ),
    "copying": (
        "Whether the head raises the logit of the very token that it attends to: the sum of the real parts of the "
        "eigenvalues of its OV circuit over the sum of their sizes. 1 copies, −1 suppresses. From the weights alone, "
        "with both LayerNorms' centring and gain, without their scale (Elhage et al. 2021)."
    ),
    "effect": (
        "How much the loss on the second copies (nats per token) rises when the head's output is replaced by its own "
        "mean over the sequence (mean ablation). Above 0: the head helps to repeat."
    ),
    "every_head": "Off: only heads with a label are ablated.",
    "head_label": (
        "A label holds where the whole 95% interval lies at 0.5 or above (for copies, where position alone brings no "
        "weight, 0.3) and the mean is at least twice that of a head that attends uniformly. An induction or "
        "previous-token head has to matter, too: the loss on second copies rises when it is ablated, by zero and by "
        "its mean. One that does not is shown as such."
    ),
    "attends": (
        "Cross: while the target is written, each target token attends to the source. The other two look within one "
        "side: the target at what was written before, the source at all of itself."
    ),
    "rows": (
        "The decoder reads one token and predicts the next. A row can be named by either: the token that it predicts "
        "is what pictures of translations show, the token that it reads is what is in the residual stream there."
    ),
    "beams": (
        "How many unfinished targets the beam search keeps. 1 takes the likeliest token at every step (greedy); more "
        "find targets that begin less likely and end likelier."
    ),
    "beam_search": (
        "At every step each unfinished target is continued by its likeliest tokens, and the best few of all go on. "
        "Score: the mean log-probability of a branch's tokens, in nats; higher is better."
    ),
    "log_prob": "The natural logarithm of the probability that the model gives: 0 nats is certain, −0.69 is one half.",
    "given_target": (
        "The decoder reads this target (teacher forcing), and the page shows where it attends and how likely each "
        "token was."
    ),
    "why": (
        "A model gives every token a logit; the softmax turns logits into probabilities. The logit difference of two "
        "tokens is the logarithm of how many times likelier one is than the other, and it can be split into who "
        "contributed what."
    ),
    "why_target": "The token to explain. Empty: the likeliest. Inside a sentence most begin with a space: type it too.",
    "why_distractor": (
        "The token it is compared with. Empty: the likeliest in B, where there is a B and it is another one, or "
        "else A's next likeliest."
    ),
    "why_position": "The token after which the prediction is made; the last one unless you choose another.",
    "why_side": "A, B, or B − A of the same numbers.",
    "why_cell": "A cell of a head: its query attends to its key.",
    "why_query": "The query position. At first the one after which the prediction is made.",
    "why_key": "The key position. At first the one with the largest attention weight.",
    "why_strongest": "Back to the query after which the prediction is made, and to its largest attention weight.",
    "why_score": (
        "The attention score (before the softmax), split into pairs: a part of the query's residual stream with a "
        "part of the key's. A part is whatever wrote to the stream before this layer: embeddings, heads, MLPs, "
        "biases. The entries add up to the score."
    ),
    "why_by": (
        "By who wrote to the streams, or by the features that a dictionary finds in them: a query's and a key's stream "
        "are then active features times their decoder rows, the decoder's bias and the dictionary's error, and the "
        "score is the sum over all pairs."
    ),
    "why_carriers": (
        "Of a dictionary of the last stream: what each feature adds to target − distractor, with the decoder's bias "
        "and the dictionary's error."
    ),
    "why_follow": (
        "The sums of a head's column (as part of the key) and of its row (as part of the query). The button "
        "explains what that head looks at at that token: step by step back through the circuit."
    ),
    "why_what": (
        "What the cell adds to the query's residual stream: weight × value × W_O. Read by itself through the final "
        "LayerNorm at this run's scale and the unembedding: the tokens that it promotes and suppresses."
    ),
    "why_matters": (
        "Direct effect: what is lost if only this write is taken out of the final residual stream. Total effect: what"
        " the model really predicts without it, since later layers read it too and can make up for it. Rescaled: the "
        "row's other weights are made to add up to 1 again. Mean ablation: the head's own mean over the positions of "
        "this prompt, or of the prompts in your list."
    ),
    "mean_over": (
        "A head's average over all positions of this prompt, or of all prompts in your list (page Prompts), each "
        "token counting once. Over many prompts it is what the head gives whatever is said: what is left out is what "
        "it says about this one."
    ),
    "why_attribution": (
        "Direct logit attribution: what each part adds to target − distractor through the final LayerNorm, whose "
        "scale is this run's, and the unembedding. All parts add up to the model's own logit difference."
    ),
    "edits": (
        "An edit (an intervention) changes something on the way of run A. A with all edits that are switched on is "
        "shown as B, on every page, with B − A beside it; A itself stays as it is."
    ),
    "edit": (
        "Ablate: heads' outputs are replaced. Cut: a query takes nothing from one key (attention knockout). Freeze: "
        "heads keep A's own patterns, whatever else changes. Patch: an activation becomes that of another prompt, "
        "where tokens match. Steer: the residual stream is changed along the difference of two prompts' last "
        "positions. Drop: a part writes nothing. Neuron: its activation becomes zero, its mean, another prompt's, or a "
        "value. Feature: a dictionary's feature writes nothing, as much as is said, or so much more; its error stays."
    ),
    "edit_align": (
        "The other prompt has another number of tokens. Same tokens: those of a longest common subsequence are "
        "matched, and between two matches one word for another. Or equal positions. What has no match stays as it is."
    ),
    "edit_renormalise": "The row's other weights are rescaled to sum to 1 again; otherwise their sum is what remains.",
    "edit_name": (
        "By TransformerLens's names: resid_pre and resid_post are the residual stream before and after a layer, "
        "attn_out and mlp_out what its two parts write, z each head's output before W_O."
    ),
    "weights": (
        "What a head does with tokens by its weights alone, whatever the prompt: token embeddings go in, without "
        "positions, biases and what earlier layers write, at a LayerNorm scale of 1."
    ),
    "circuit": (
        "QK: the score that a token as query gives to a token as key. OV: what attending to a token adds to every "
        "token's logit. Each is a matrix of vocabulary × vocabulary that is never made: its two thin factors hold it."
    ),
    "distance": (
        "With rotary positions a head scores the same two tokens differently at each distance: this is how many tokens "
        "the key stands before its query."
    ),
    "circuit_token": "Type one token. Inside a sentence most begin with a space: type the space too.",
    "circuit_side": "Whose strongest pairs and directions are listed; every pair has its value in A, in B, and B − A.",
    "circuit_pairs": "The outermost entries of the whole matrix, found exactly: what cannot be among them is left out.",
    "directions": (
        "The matrix is a sum of singular directions, the strongest first. Tokens at one end of a direction act up on "
        "the tokens of the same end on the other side, and down on those at the other end. Strength: the singular "
        "value. Share: of the sum of all squared strengths, how much it is."
    ),
    "composition": (
        "How much of what an earlier head writes this head reads by its query, its key or its value: the size of the "
        "two circuits' product over the product of their sizes (Frobenius norms). Random heads of the same shapes "
        "score about 1/√d_model; what is above that is no accident of size."
    ),
    "flow": (
        "What the chosen token's final residual stream was made of. Each state is a sum: of itself one step below, of"
        " what every head takes from every token, of what the MLP adds. A summand's share is how much nearer it "
        "brings the sum (L1 distance), over the same of all summands, so that the shares into a state add up to 1 "
        "(Ferrando and Voita 2024). The states are those of this run; nothing is run again."
    ),
    "flow_start": "The token whose final state, from which the next token is predicted, is followed downwards.",
    "flow_threshold": (
        "Edges that are a smaller share of their node are left out, with all that is reached by them alone. An "
        "attention edge is all heads that take from that token together. In B − A edges that change less are left "
        "out."
    ),
    "flow_node": (
        "What the state would predict if the model stopped there (logit lens), and which rank the same token has in "
        "the state one step below."
    ),
    "flow_edge": "The heads that take from this token for that one, by their share of the state that they write to.",
    "flow_change": (
        "What flows more (blue) or less (orange) in B than in A. Nodes belong together where their tokens do; an edge "
        "is a share of its node in both, so that the changes into a node, with its bias, sum to 0. Both runs are "
        "followed along the edges that are large enough in one of them. What flows into a token that one run lacks "
        "(◆) has nothing to be compared with."
    ),
    "flow_node_both": (
        "What the state would say in A and in B if the model stopped there (logit lens): the tokens that are "
        "likeliest in one of them, with their ranks."
    ),
    "flow_edge_both": (
        "The heads that take from this token for that one, by their share of the state that they write to, those that"
        " differ most between A and B first."
    ),
    "patching": (
        "Activation patching: a part of one prompt's run is put into the other's, and the prediction measured again. "
        "The share of the logit difference is 0 where it is as in A and 1 where it is as in B, and may be beyond "
        "both. The part matters to what the prompts differ in where the share moves."
    ),
    "patch_map": (
        "Heads: a head's z (before W_O), at all positions. The residual stream, attention's and the MLP's output: at "
        "one position each. Path patching: one earlier head's z, as one head's query, key or value reads it."
    ),
    "patch_into": (
        "B into A: the run of A is patched with parts of B, and begins at 0. A into B begins at 1. The colours are "
        "centred there."
    ),
    "patch_target": "The token whose logit counts. Empty: the likeliest in A.",
    "patch_distractor": (
        "The token it is compared with. Empty: the likeliest in B, if it is another one, or else A's next likeliest."
    ),
    "patch_estimate": (
        "Attribution patching: change times gradient, all cells from one forward and one backward pass. An estimate: "
        "exact only where the logit difference depends linearly on the part."
    ),
    "patch_receiver": (
        "Path patching: each earlier head's change reaches this one directly, all other heads held at their original "
        "output; then the model runs on with the query, key or value that this makes (Goldowsky-Dill et al. 2023)."
    ),
    "patch_mlps": "MLPs between sender and receiver are recomputed, as Wang et al. (2022) do, and not held.",
    "corpus": (
        "A scan runs a model over a whole corpus and keeps what every head does there: figures over all its positions, "
        "and a few sequences from each bucket of how strongly the head is active (HeadVis, Luger, Kamath et al. 2026)."
    ),
    "scan": "A folder that the scan has written, or any tree of HeadVis, such as Neuronpedia's exports.",
    "scan_b": "Another scan, of another model or of the same one before training: B − A of each head's figure.",
    "corpus_head": (
        "The figures are means over every position of the corpus, with 95% intervals over documents. A head on one "
        "prompt may do what it hardly does elsewhere."
    ),
    "corpus_sequences": (
        "Sampled by the largest attention weight outside the first row and column. At rest a token's colour is the "
        "largest weight that looks at it, and the query of the largest weight is framed. Click one to choose it: the "
        "links open it, or else the strongest, as prompt A with this head and that cell chosen."
    ),
    "corpus_matters": (
        "The mean change of the next token's loss when the head's output is replaced by its mean over the corpus, on "
        "tokens where it is active and where it is not; and its direct effect on the right token's logit."
    ),
    "corpus_top": (
        "The tokens between which most of the head's attention flows, summed over the corpus (attention weight)."
    ),
    "mlp": (
        "A neuron of an MLP gives one number at each token, its activation, and writes that many times its row of "
        "W_out to the stream. With the biases, if there are any, the neurons' direct effects add up to those of the "
        "MLP's write, as on Why."
    ),
    "neurons_by": (
        "Direct effect: what a neuron adds to target − distractor through the final norm, at the scale that it has in "
        "this run. Gradient × activation: to first order what the difference would lose without it, on whichever way. "
        "Activation: what W_out multiplies."
    ),
    "neurons_layer": "The neurons of one layer, or of all.",
    "neurons_token": "The token at which the neurons are looked at, and after which the prediction is measured.",
    "neurons_measured": (
        "Runs the model on without each listed neuron, which then gives 0 at this token: what target − distractor "
        "loses. The direct effect leaves out what later layers make of it."
    ),
    "neurons_count": "How many neurons are listed.",
    "neurons_list": (
        "Sort by any column. The measures are of the token that is chosen above, of A, of B or of the change."
    ),
    "neurons_direct": "Through the final norm alone, all else held still (logits).",
    "neurons_gradient": "Activation times the gradient of target − distractor (logits).",
    "neurons_activation": "What W_out multiplies; in a gated MLP the gate's activation times what it lets through.",
    "neurons_gate": "What the gate's matrix gives, before the activation function.",
    "neurons_up": "What the gate lets through: the second matrix's product, by which its activation is multiplied.",
    "neuron": "Layer and number, both from 0. Choose a row above, or type a number; click a token to look at it there.",
    "neuron_layer": "The neuron's layer.",
    "neuron_number": "Any neuron of the layer by its number.",
    "neuron_tokens": (
        "Writes: what its row of W_out does to every logit by itself, at the norms' scales at this token. Reads: the "
        "product of every token's embedding with what the neuron reads by, the norm's gain and centring included."
    ),
    "neuron_prompts": (
        "The neuron's largest activation on every prompt of your list (page Prompts), and where it is; the prompt "
        "on which it is most active, or the one that is chosen, coloured by it."
    ),
    "neuron_heads": (
        "How much the neuron reads of what a head's output circuit writes, and a later head's query, key or value "
        "circuit of what the neuron writes: the size of the product over the product of sizes (composition)."
    ),
    "graph": (
        "The prediction taken apart into what wrote to the stream: token embeddings, heads' writes, and the neurons of "
        "the MLPs or a transcoder's features. An edge is what one gives to another, with attention patterns, the "
        "scales of norms and neurons' gates held still, so that it is one linear step: the edges into a node and its "
        "bias add up to its activation, and those out of it to what it does to the target. Why heads look where they "
        "look is not in it (Ameisen et al. 2025). Marks are as large as their influence, blue where they raise the "
        "target and orange where they lower it; open triangles are what is not taken apart."
    ),
    "graph_mode": (
        "Graph: what one prediction was made of. Circuit: which of the model's own edges make it, queries and keys "
        "included, against another prompt B or against what the edges bring on average."
    ),
    "circuit_against": (
        "Prompt B: an edge that brings the same in both prompts has no part in the circuit. Its means: an edge brings "
        "the mean over A's own positions instead, so that what all prompts have counts too, such as where tokens stand."
    ),
    "circuit_edges": (
        "Every edge from the embeddings, a head or an MLP into a head's query, key or value, an MLP or the logits has "
        "a score: the change of what is written, B's (or A's mean) less A's, times the gradient for what is read (edge "
        "attribution patching, Syed et al. 2023). Those that are large enough are the circuit. Faithfulness: with all "
        "other edges from B, how far target less distractor gets from B's to A's. Completeness: the same with the "
        "circuit's edges from B and all others from A, which should leave nothing."
    ),
    "circuit_scores": (
        "What the edge alone would change of target less distractor if it came from B, to first order: negative where "
        "A needs it. Choose a row, or a mark, for one part's edges."
    ),
    "circuit_least": "Edges are in the circuit whose score is at least this share of the largest, by size.",
    "circuit_steps": (
        "So many gradients on the way from A's embeddings to B's are averaged (integrated gradients, Hanna et al. "
        "2024); one is taken in A. Saturated attention has no gradient in A, and its queries and keys only show on the "
        "way."
    ),
    "graph_share": (
        "Influence: over all ways from a node to the target, the product of each edge's share of all edges into its "
        "node, by size. The fewest nodes that have the chosen share of all influence are kept, then the fewest edges; "
        "what lies on no way any more goes too. Replacement score: of the influence where ways begin, the share that "
        "tokens have and not errors or what was left out. Completeness: the share of nodes' inputs that do not come "
        "from these, weighted by influence."
    ),
    "graph_against": (
        "The target's logit is explained less that of the distractor, or less the mean of all logits, which is what "
        "moves its probability (circuit-tracer's demeaned logit)."
    ),
    "graph_nodes": "Nodes are kept until they have this share of all influence.",
    "graph_edges": "Of the edges between them, those are kept that have this share of what passes along all.",
    "graph_place": "The token after which the prediction is explained.",
    "graph_units": "Neurons, or the features of transcoders that stand for every MLP of the model.",
    "graph_folded": (
        "Heads are no nodes then: an edge is all ways through any number of heads, as circuit-tracer has it."
    ),
    "graph_most": (
        "So many heads' writes and units, those with the largest effects on the target, become nodes. The others are "
        "gathered by layer and position in nodes that nothing flows into."
    ),
    "graph_node": (
        "Weight: what an edge gives, in the unit of the node that it goes into; of a head's write that is its effect "
        "on the target. On the target: the same times how much the target moves with that node. A row chooses its node."
    ),
    "graph_edge": "The largest first, by what they come to at the target (logits).",
    "graph_check": (
        "The nodes with the most influence are ablated in the model itself, each alone and all together: a head's or "
        "neuron's output is 0 at its position, a feature's is taken off what the MLP writes. Predicted is what the "
        "graph says of that, measured is what becomes of the target when everything else is computed anew, patterns "
        "and norms too. In between, patterns and norm scales are held as the graph holds them: up to there a "
        "difference is the MLPs', from there on it is where heads then look, and what norms divide by. All that was "
        "left out is ablated as well, which tells what the graph cannot see."
    ),
    "graph_groups": (
        "Nodes that belong together, put there by hand: they are in the address and in the json, as supernodes. "
        "Effects of nodes on one way count twice in the sum."
    ),
    "graph_file": (
        "The kept part of the graph as circuit-tracer's json, which Neuronpedia opens. With heads in the edges it is a "
        "graph of circuit-tracer's own kind; heads' writes and neurons are types of node that it does not have."
    ),
    "features": (
        "A dictionary (a sparse autoencoder or a transcoder) writes an activation of the model as a sum of a few of "
        "many learned directions, its features, each times how active it is. What it does not explain is its error, "
        "which is always shown: no sum leaves it out."
    ),
    "dictionary": (
        "One that comes with the model, or the folder or hub name of another: SAELens's, Gemma Scope's, "
        "circuit-tracer's."
    ),
    "features_by": (
        "By the largest activation in the prompt; or by what a feature, where it is active at the token, adds directly "
        "to the logit of the target less that of the distractor, which are chosen on Why."
    ),
    "features_layer": "Which of the dictionaries that were opened together is shown, by the activation that it reads.",
    "features_token": "The token that the tables of the chosen feature are about.",
    "feature": (
        "A feature's encoder row says what makes it active, its decoder row what it writes at an activation of 1. "
        "Click a cell above or type a number to choose one."
    ),
    "feature_number": "Any feature of the dictionary by its number, active here or not.",
    "feature_made": (
        "The encoder's product with the stream, split by who wrote to that stream: embeddings, heads, MLPs. With the "
        "encoder's bias the parts add up to the activation, where the feature is active."
    ),
    "feature_tokens": (
        "What the decoder row does to the logits by itself, through the final norm at the scale that it has at this "
        "token."
    ),
    "feature_nearest": "The features whose decoder rows have the largest cosine with this one's.",
    "feature_readers": (
        "How much a head's query, key or value circuit makes of the feature's direction: the size of the product over "
        "both sizes (composition), by the weights alone."
    ),
    "corpus_units": (
        "What a scan of this model has of it over many documents: the share of tokens at which it is active (above 0), "
        "the strongest texts and some weaker ones, by quarters of the scan's first sequences, coloured by its "
        "activation, and the tokens that sequences peak at. A sequence's first token counts for nothing."
    ),
    "corpus_steps": (
        "The figure of the chosen heads in the scans of this model's training steps, with 95% intervals. A head is "
        "half way from the step on from which its figure stays nearer to its last value than to its first."
    ),
}

# What each model that comes with Headlight was trained on, and what it is good for.
MODELS = {
    "mini": (
        "Trained on Python's standard library, sentences of a small English grammar and random repeats: good for "
        "watching heads find repeats, names and subjects; it knows no facts."
    ),
    "mini-llama": (
        "Trained as mini was, on Python's standard library, sentences of a small English grammar and random repeats: "
        "good for comparing Llama's architecture with GPT-2's; it knows no facts."
    ),
    "teach-induction": (
        "Not trained: its weights were written by hand for 30 words. Good for checking methods against heads that are "
        "known: after a word seen before it predicts the word that followed."
    ),
    "teach-copy": (
        "Not trained: its weights were written by hand for 30 words. Good for checking methods against heads that are "
        "known: at “?” it predicts the word that came after “!”."
    ),
    "translate": (
        "Trained on sentences of a small grammar in German and English: good for watching cross-attention reorder "
        "words; it reads 720 German words and marks."
    ),
    "reverse": (
        "Trained on random rows of 8 to 16 syllables, which it writes backwards: good for seeing cross-attention as "
        "an anti-diagonal; it can do nothing else."
    ),
}
