"""Explain the terms on the pages, each in a sentence or two."""

TERMS = {
    "attention": (
        "For each query position a head spreads a total weight of 1 over the key positions it may attend to. Row: the"
        " query, the token that attends. Column: the key, the token it attends to."
    ),
    "bos": (
        "Prepends the model's beginning-of-sequence token to the prompt. Many of GPT-2's heads park their attention "
        "on it when they have nothing to attend to (an attention sink); without it they use the first word."
    ),
    "begin": (
        "What is prepended to the prompt: the model's beginning-of-sequence token, or nothing. Chat template: the "
        "prompt "
        "is the user's message, wrapped in the model's chat template up to where its answer begins. "
        "All as text: a special token's spelling in the prompt is read as plain text."
    ),
    "head": "L2H1 is head 1 of layer 2. Layers and heads are counted from 0.",
    "entropy": (
        "How spread out the attention weights of a row are, averaged over the rows: 0 nats is a single token, log n "
        "is n tokens equally."
    ),
    "mean_distance": "How many tokens back a head attends on average, weighted by its attention.",
    "previous_token": "The mean attention weight on the token just before the query.",
    "first_token": "The mean attention weight on the very first token, the usual attention sink.",
    "other_sinks": (
        "The mean attention weight on sinks other than the first token, from the tokens after them. A token is one if "
        "many heads (15% of all) give it on average 0.3 or more of the weight of the tokens after it. Empty if there "
        "is none; A and B each have their own."
    ),
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
        "Many heads park their attention on the first token, some also on a later one, when they have nothing to "
        "attend to (attention sinks). Hidden: the columns of all of these are left out. Renormalised: each row's other "
        "weights are rescaled to sum to 1."
    ),
    "unit": (
        "Attention weights are summed over the key tokens of a word or sentence and averaged over its query tokens: "
        "rows still add up to 1."
    ),
    "vertical": "Receiver heads: the mean of their scores. Or the score in the first chosen head.",
    "vertical_score": (
        "Vertical score of a sentence: the mean attention weight from a token at least 4 sentences later to one of its "
        "tokens. The first token and special tokens are left out. The last 4 sentences have none (grey)."
    ),
    "hidden_sentence": (
        "KL(whole text || hidden) of the next token's distribution in nats, averaged over each later sentence's "
        "tokens, where no later token attends to the hidden sentence in any head or layer. 0: nothing is lost."
    ),
    "receiver_head": (
        "Kurtosis of a head's vertical scores over the sentences (excess, 0 of a normal distribution): high where a "
        "few sentences get most of its attention from afar. The 20 highest are the receiver heads (Bogdan et al. 2025)."
    ),
    "fold": (
        "Averaged: attention weights added up over a unit's key tokens and averaged over its query tokens. "
        "Largest: the largest weight of one token of the unit on one token of the other; rows do not add up to 1."
    ),
    "own_scale": (
        "On: each head's colours run to its own largest cell. Off: all heads share one scale, so that colours compare."
    ),
    "table": "Tables in place of pictures, for screen readers and exact values.",
    "sort": "Puts the heads with the largest score first. Scores are those of whole rows, the first token included.",
    "divergence": (
        "How differently a head attends in A and B: the mean Jensen–Shannon divergence (nats) of the rows that both "
        "have. 0: identical. 0.69 (log 2): nothing in common."
    ),
    "js": (
        "The Jensen–Shannon divergence between two heads' rows, on average, in nats. 0: they attend to the same "
        "tokens with the same weights. 0.69 (log 2): to entirely different ones."
    ),
    "align": (
        "How the two prompts are aligned. Token: as many equal tokens as possible are matched in order; the others "
        "are marked − (only A) or + (only B). Position: the first with the first, and so on."
    ),
    "scale": (
        "The square root makes small weights visible; linear is proportional. Numbers are always the weights "
        "themselves."
    ),
    "prompt_files": (
        "Other columns or keys of a file are kept as labels. Every prompt that you run joins the list; the list lasts"
        " as long as this browser tab."
    ),
    "over_prompts": (
        "Each prompt counts once, and only if it has such a token at all. The standard deviation is the sample's (n −"
        " 1)."
    ),
    "past_runs": "Up to 20. Restoring a run restores its selections and its page.",
    "residual": (
        "The vector that each token carries through the model. Every layer's attention and MLP read from it and add "
        "to it; its final state gives the next-token logits."
    ),
    "norm": "The L2 norm of the residual stream: the square root of the sum of its squared entries.",
    "cosine": "Cosine similarity of the residual stream at two layers. 1: the same direction. 0: orthogonal.",
    "sentence_cosine": (
        "Cosine of the embeddings of A and B: the mean of all tokens' last hidden states, or the one token that the "
        "encoder's files name. Parts: what was written times the other sentence's direction, through norms at the "
        "scales that they have in this run. Heads and other parts sum to the cosine, and so do the tokens."
    ),
    "share": (
        "The part of the final residual stream that comes from one component, measured along the final vector. The "
        "shares at a position add up to 1; a negative share was cancelled by others."
    ),
    "lens": (
        "The logit lens: what the model would predict if it stopped after this layer. The residual stream there is "
        "read by the final LayerNorm and the unembedding."
    ),
    "lens_kind": (
        "How a layer's state is mapped to the final layer before unembedding. Logit: not at all. Tuned: by an affine "
        "map for each layer, trained to match the model's output. Jacobian: the mean effect of the layer's "
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
        "Patchscopes (Ghandeharioun et al. 2024): the chosen state is patched into another prompt, and the model's "
        "continuation reveals what the state encodes. The default prompt asks it to repeat its input."
    ),
    "scope_prompt": (
        "The prompt that the state is patched into. Leave it empty for the default, which asks the model to repeat."
    ),
    "scope_position": "The token of the prompt whose state is replaced: the last, unless you choose another.",
    "scope_layer": "The layer after which the prompt's state is replaced: the state's own layer, or another.",
    "scope_tokens": "How many tokens the model generates after the prompt, greedily.",
    "lens_top": "The probability of the token that this layer ranks first.",
    "lens_final": (
        "The probability that each layer gives to the model's final answer at that position. "
        "Words stand where the best guess changes."
    ),
    "lens_target": "The probability that each layer gives to the tracked token.",
    "lens_rank": "The rank of the tracked token: 1 is the most likely.",
    "lens_entropy": (
        "The entropy of the layer's prediction: 0 nats if one token is certain, log n if n tokens are equally likely."
    ),
    "lens_kl": (
        "KL(final ‖ layer) in nats: what is lost by taking this layer's prediction for the final one. 0: the layer "
        "already predicts what the model will."
    ),
    "inside": (
        "Everything that one head computes for one query, step by step. Every matrix is the model's own; shapes are "
        "rows × "
        "columns. Point at a picture for its numbers; click a key or a component to track it."
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
        "entry by entry. So the head depends on the vector's direction, hardly on its norm."
    ),
    "rms_norm": (
        "Divides by the root of the vector's mean square, then multiplies by a gain, entry by entry. Nothing is "
        "subtracted. So the head depends on the vector's direction, hardly on its norm."
    ),
    "compared": (
        "Rotary positions turn pairs of components by an angle that grows with the position, so that a dot product "
        "depends on how far apart query and key stand. Some models normalise each query and key before that."
    ),
    "position_bias": (
        "What the model adds to a score depending on the key's distance; with ALiBi, a penalty that grows with "
        "distance."
    ),
    "soft_cap": "c tanh(score / c): small scores stay as they are, and none gets beyond c.",
    "query": "A short vector computed from the residual stream by W_Q of this head: what the token is looking for.",
    "key": "A short vector computed from each token's residual stream by W_K, which queries are compared with.",
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
    "value": "A third short vector of each token, by W_V: what it passes to the queries that attend to it.",
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
        "Random tokens repeated once: the second copy can only be predicted from the first, not from language "
        "statistics. Your prompts: what the heads do on the text that you care about."
    ),
    "finder_seed": "Another seed draws other random tokens. A property of the model does not depend on it.",
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
        "previous-token head must also have a causal effect: zero and mean ablation both raise the loss on second "
        "copies. Otherwise the label has a question mark."
    ),
    "attends": (
        "Cross: while the target is written, each target token attends to the source. The other two are "
        "self-attention: each target token attends to earlier target tokens, each source token to the whole source."
    ),
    "rows": (
        "The decoder reads one token and predicts the next. A row can be labelled by either: figures of translations "
        "usually show the predicted token; the residual stream there encodes the token read."
    ),
    "beams": (
        "How many unfinished targets the beam search keeps. 1 takes the likeliest token at every step (greedy); more "
        "find targets whose first tokens are less likely but which are more likely overall."
    ),
    "source_language": (
        "The language's token that the tokenizer puts around the source. By default the one of its own settings."
    ),
    "target_language": (
        "The language's token that the target has to begin with. By default what the model's files ask for, or else "
        "what the model writes by itself."
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
        "tokens is the log of their probability ratio, and it decomposes into contributions of the model's components."
    ),
    "why_label": "The label to explain. By default the likeliest.",
    "why_other_label": "The label whose logit is subtracted. By default the second likeliest.",
    "why_target": "The token to explain. Empty: the likeliest. Inside a sentence most begin with a space: type it too.",
    "why_distractor": (
        "The token it is compared with. Empty: the likeliest in B, where there is a B and it is another one, or "
        "else A's next likeliest."
    ),
    "why_position": "The token after which the prediction is made; the last one unless you choose another.",
    "why_side": "A, B, or B − A of the same numbers.",
    "why_cell": "A cell of a head: its query attends to its key.",
    "why_query": "The query position. Default: the one after which the prediction is made.",
    "why_key": "The key position. Default: the one with the largest attention weight.",
    "why_strongest": "Back to the query after which the prediction is made, and to its largest attention weight.",
    "why_score": (
        "The attention score (before the softmax), split into pairs: a component of the query's residual stream with "
        "a component of the key's. A component is whatever wrote to the stream before this layer: embeddings, heads, "
        "MLPs, biases. The entries add up to the score."
    ),
    "why_by": (
        "By the components that wrote to the streams, or by a dictionary's features of them: a query's and a key's "
        "stream "
        "are then active features times their decoder rows, the decoder's bias and the dictionary's error, and the "
        "score is the sum over all pairs."
    ),
    "why_carriers": (
        "Of a dictionary of the last stream: what each feature adds to target − distractor, with the decoder's bias "
        "and the dictionary's error."
    ),
    "why_follow": (
        "The sums of a head's column (key side) and row (query side). The button explains that head's attention at "
        "that token: step by step back through the circuit."
    ),
    "why_what": (
        "What the cell adds to the query's residual stream: weight × value × W_O. Through the norms behind it at this "
        "run's scales and the unembedding: the tokens or labels that it promotes and suppresses."
    ),
    "why_matters": (
        "Direct effect: the loss from removing only this output from the final residual stream. Total effect: the "
        "model's prediction without it; later layers read it too, and can compensate. Rescaled: the "
        "row's other weights are made to add up to 1 again. Mean ablation: the head's own mean over the positions of "
        "this prompt, or of the prompts in your list."
    ),
    "mean_over": (
        "A head's average over all positions of this prompt, or of all prompts in your list (page Prompts), each "
        "token counting once. Over many prompts it is the head's prompt-independent output, so that mean ablation "
        "removes what is specific to this prompt."
    ),
    "why_attribution": (
        "Direct logit attribution: what each part adds to target − distractor through the norms behind it, whose "
        "scales are this run's, and the unembedding; a pooler's activation function counts as the ratio of what it "
        "gave to what it took. All parts add up to the model's own logit difference."
    ),
    "translate_why": (
        "Direct logit attribution of a written token: what each component of the decoder adds to its logit, less that "
        "of another token. The encoder acts through the heads of cross-attention, whose effects are also shown by the "
        "source token that they read."
    ),
    "why_written": "The token to explain, of those that the model wrote or that you provided.",
    "why_versus": "The token whose logit is subtracted. Default: the likeliest other one.",
    "edits": (
        "An edit is an intervention on run A's forward pass. A with all active edits is B, on every page, with B − A "
        "beside it; A itself stays unchanged."
    ),
    "edit": (
        "Ablate: heads' outputs are replaced. Attention edge: a query gets nothing from one key (attention "
        "knockout). Freeze: heads keep A's patterns, whatever else changes. Patch: an activation becomes that of "
        "another prompt, "
        "where tokens match. Steer: the residual stream is changed along the difference of two prompts' last "
        "positions. Drop: a layer or sublayer writes nothing. Neuron: its activation becomes zero, its mean, another "
        "prompt's, or a value. Feature: a dictionary's feature is ablated, clamped, or steered along; the error "
        "stays."
    ),
    "edit_align": (
        "The other prompt has another number of tokens. Token: those of a longest common subsequence are matched, "
        "and between two matches one word for another. Or equal positions. Unmatched positions are not patched."
    ),
    "edit_renormalise": "The row's other weights are rescaled to sum to 1 again; otherwise their sum is what remains.",
    "edit_name": (
        "By TransformerLens's names: resid_pre and resid_post are the residual stream before and after a layer, "
        "attn_out and mlp_out what its two parts write, z each head's output before W_O."
    ),
    "dir_page": (
        "A direction is a vector in the residual stream that points from one class of prompts to another. Here it is "
        "found in labelled prompts, tested on prompts that it was not found in, and added to the stream to see what it "
        "causes."
    ),
    "dir_set": "Two classes of prompts, or a direction that was kept or opened.",
    "dir_column": "The column of labels that tells the two classes apart, or clean prompts against corrupted ones.",
    "dir_toward": "The class that the direction points to.",
    "dir_away": "The class that it points away from.",
    "dir_method": (
        "Difference of the two classes' means; first principal component of the pairs' differences; or the weights of "
        "a logistic regression (scikit-learn, L2, C = 1)."
    ),
    "dir_position": "The token whose stream is read: the last, a named one, or the mean over all after the first.",
    "dir_layer": "The layer after which the direction lies. By default the one with the largest held-out AUROC.",
    "dir_up": "A token, with its space, whose logit counts for the first class. Empty: the set's own answers.",
    "dir_down": "A token whose logit counts for the second class. Empty: the set's own wrong answers.",
    "dir_neutral": "A text that has nothing to do with the classes, on which the cost of the edit is measured.",
    "dir_projection": (
        "How far each token's stream lies along the direction, divided by the direction's length, which is the mean "
        "norm of the streams that it was found in. The unit is that of the factor."
    ),
    "dir_dose": (
        "The mean logit difference between the two classes' answers with the direction added, times a factor, before "
        "one layer. Bars are 95% intervals over prompts; each prompt is steered by a direction found without its group."
    ),
    "dir_nearest": (
        "The tokens whose logits the direction raises and lowers most, by each lens that the model has, read through "
        "the final norm at the scale that it has at the chosen token. The effects in logits: As tables."
    ),
    "dir_cosines": (
        "The cosine with kept directions, with what embeddings, heads and MLPs write at the chosen token, with the "
        "nearest vector that a head's W_O can write, with the unembedding of tokens, and with a dictionary's features. "
        "Of W_O a random vector has about the root of d_head / d_model."
    ),
    "dir_edit": (
        "Add the direction times a factor, in units of the stream's mean norm; project it out; or cap the stream's "
        "part along it. The edit runs on every page and in Generate."
    ),
    "dir_action": "What is done with the stream's part along the direction.",
    "dir_factor": "In units of the direction's length: 1 is the mean norm of the streams that it was found in.",
    "dir_where": "At which tokens the stream is edited, in the dose curve and by the edit.",
    "weights": (
        "What a head does with tokens by its weights alone, for any prompt: token embeddings go in, without "
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
    "circuit_pairs": "The highest and lowest entries of the whole matrix, by an exact search.",
    "directions": (
        "The matrix is a sum of singular directions, the strongest first. Tokens at one end of a direction raise the "
        "tokens at the same end on the other side, and lower those at the opposite end. Strength: the singular "
        "value. Share: its square over the sum of all squares."
    ),
    "composition": (
        "How much of what an earlier head writes this head reads by its query, its key or its value: the size of the "
        "two circuits' product over the product of their sizes (Frobenius norms). Random heads of the same shapes "
        "score about 1/√d_model; a higher value is not due to size alone."
    ),
    "flow": (
        "Where the chosen token's final residual stream came from. Each state is a sum: the state one step below, "
        "what every head copies from every token, and the MLP's output. A summand's share is how much closer it "
        "brings the sum (L1 distance), over the same of all summands, so that the shares into a state sum to 1 "
        "(Ferrando and Voita 2024). The states are those of this run; no ablations are run."
    ),
    "flow_start": "The token whose final state, which predicts the next token, is traced back.",
    "flow_threshold": (
        "Edges with a smaller share of their node are left out, with everything reachable only through them. An "
        "attention edge sums all heads that attend to that token. In B − A edges that change less are left "
        "out."
    ),
    "flow_node": ("The state's prediction by the logit lens, and the same token's rank one state below."),
    "flow_edge": (
        "The heads that move information from this token to that one, by their share of the state that they write to."
    ),
    "flow_change": (
        "What flows more (blue) or less (orange) in B than in A. Nodes belong together where their tokens do; an edge "
        "is a share of its node in both, so that the changes into a node, with its bias, sum to 0. Both runs are "
        "followed along the edges that are large enough in one of them. What flows into a token that one run lacks "
        "(◆) has nothing to be compared with."
    ),
    "flow_node_both": (
        "The state's predictions in A and in B by the logit lens: the most likely tokens of either, with their ranks."
    ),
    "flow_edge_both": (
        "The heads that take from this token for that one, by their share of the state that they write to, those that"
        " differ most between A and B first."
    ),
    "patching": (
        "Activation patching: an activation of one prompt's run is copied into the other's, and the prediction is "
        "measured again. The normalized logit difference is 0 if it is as in A and 1 if it is as in B, and may be "
        "beyond both. Where it moves, the activation carries what the prompts differ in."
    ),
    "patch_map": (
        "Heads: a head's z (before W_O), at all positions. The residual stream, attention's and the MLP's output: at "
        "one position each. Path patching: one earlier head's z, as one head's query, key or value reads it."
    ),
    "patch_into": (
        "B into A: activations of B are patched into A's run, which starts at 0. A into B starts at 1. Colours are "
        "centred there."
    ),
    "patch_target": "The token whose logit counts. Empty: the likeliest in A.",
    "patch_distractor": (
        "The token it is compared with. Empty: the likeliest in B, if it is another one, or else A's next likeliest."
    ),
    "patch_estimate": (
        "Attribution patching: change times gradient, all cells from one forward and one backward pass. An estimate: "
        "exact only where the logit difference is linear in the activation."
    ),
    "patch_receiver": (
        "Path patching: each earlier head's change reaches this one directly, all other heads frozen at their "
        "original output; then the model runs on with the resulting query, key or value (Goldowsky-Dill et al. 2023)."
    ),
    "patch_mlps": "MLPs between sender and receiver are recomputed, as Wang et al. (2022) do, and not frozen.",
    "corpus": (
        "A scan runs a model over a whole corpus and records every head: metrics over all positions, and a few "
        "sequences from each bucket of the head's activity (HeadVis, Luger, Kamath et al. 2026)."
    ),
    "scan": "A folder that the scan has written, or any tree of HeadVis, such as Neuronpedia's exports.",
    "scan_b": "Another scan, of another model or of the same one before training: B − A of each head's metrics.",
    "corpus_head": (
        "The metrics are means over every position of the corpus, with 95% intervals over documents. A head's "
        "behaviour on one prompt can be rare elsewhere."
    ),
    "corpus_sequences": (
        "Sampled by the largest attention weight outside the first row and column. By default a token's colour is "
        "the largest attention weight on it, and the query of the largest weight is framed. Click one to choose it: "
        "the "
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
        "this run. Gradient × activation: to first order what the difference would lose without it, through all paths. "
        "Activation: what W_out multiplies."
    ),
    "neurons_layer": "The neurons of one layer, or of all.",
    "neurons_token": "The token at which the neurons are looked at, and after which the prediction is measured.",
    "neurons_measured": (
        "Runs the model on without each listed neuron, which then gives 0 at this token: what target − distractor "
        "loses. The direct effect leaves out later layers."
    ),
    "neurons_count": "How many neurons are listed.",
    "neurons_list": (
        "Sort by any column. The measures are of the token that is chosen above, of A, of B or of the change."
    ),
    "neurons_direct": "Through the final norm alone, with all else frozen (logits).",
    "neurons_gradient": "Activation times the gradient of target − distractor (logits).",
    "neurons_activation": "What W_out multiplies; in a gated MLP the gate's activation times what it lets through.",
    "neurons_gate": "What the gate's matrix gives, before the activation function.",
    "neurons_up": "What the gate lets through: the second matrix's product, by which its activation is multiplied.",
    "neuron": "Layer and number, both from 0. Choose a row above, or type a number; click a token to look at it there.",
    "neuron_layer": "The neuron's layer.",
    "neuron_number": "Any neuron of the layer by its number.",
    "neuron_tokens": (
        "Writes: its row of W_out's direct effect on every logit, at the norms' scales at this token. Reads: the "
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
        "The prediction decomposed into what wrote to the stream: token embeddings, heads' writes, and the neurons of "
        "the MLPs or a transcoder's features. An edge is what one contributes to another, with attention patterns, "
        "norm scales and neurons' gates frozen, so that it is one linear step: the edges into a node and its "
        "bias add up to its activation, and those out of it to its effect on the target. Why heads attend where they "
        "do is not in it (Ameisen et al. 2025). Marks are as large as their influence, blue where they raise the "
        "target and orange where they lower it; open triangles are what is not decomposed."
    ),
    "graph_mode": (
        "Graph: the attribution graph of one prediction. Circuit: the edges between components behind it, queries "
        "and keys included, against another prompt B, mean activations or zeros."
    ),
    "circuit_against": (
        "Prompt B: an edge that carries the same in both prompts is not in the circuit. Mean activations: edges "
        "carry the mean over A's positions instead, so that what all prompts share counts too, such as positions. "
        "Zero: edges carry nothing; biases of attention stay."
    ),
    "circuit_method": (
        "EAP: the change of what is written times the gradient for what is read, in A. EAP-IG: the mean gradient on "
        "the way to the baseline, of the embeddings (inputs) or of each layer's heads and each MLP (activations). "
        "Clean-corrupted: the mean of A's gradient and the baseline's. Exact patching: one run for each edge. "
        "Information flow routes: the share of what is written in what is read, in A alone."
    ),
    "circuit_most": "At most so many edges are taken, the largest scores first; then those on no path are left out.",
    "circuit_edges": (
        "Every edge from the embeddings, a head or an MLP into a head's query, key or value, an MLP or the logits has "
        "a score: the change of what is written, B's (or A's mean) less A's, times the gradient for what is read (edge "
        "attribution patching, Syed et al. 2023). The largest are the circuit. Faithfulness: with "
        "all other edges from B, how far target − distractor gets from B's to A's. Completeness: the same with the "
        "circuit's edges from B and all others from A, which should leave nothing. In models of BERT's kind each "
        "reader has a stream of its own, made by the model's norms, and gradients go through all norms between."
    ),
    "circuit_scores": (
        "The edge's effect on target − distractor if it alone came from B, to first order: negative where "
        "A needs it. Click a row or a mark for one component's edges."
    ),
    "circuit_least": "Edges are in the circuit whose score is at least this share of the largest, by size.",
    "circuit_steps": (
        "So many gradients on the way from A's activations to the baseline's are averaged (integrated gradients, Hanna "
        "et al. 2024). Saturated attention has no gradient in A, so its queries and keys only count along the way."
    ),
    "graph_share": (
        "Influence: over all paths from a node to the target, the product of each edge's share of all edges into its "
        "node, by size. The fewest nodes that have the chosen share of all influence are kept, then the fewest edges; "
        "nodes that are on no path any more are removed too. Replacement score: the share of the influence at the "
        "paths' starts that belongs to tokens, not to errors or pruned nodes. Completeness: the share of nodes' "
        "inputs that do not come "
        "from these, weighted by influence."
    ),
    "graph_against": (
        "The target's logit is explained minus the distractor's, or minus the mean of all logits, which is what "
        "moves its probability (circuit-tracer's demeaned logit)."
    ),
    "graph_nodes": "Nodes are kept until they have this share of all influence.",
    "graph_edges": "Of the edges between them, those are kept that have this share of what passes along all.",
    "graph_place": "The token after which the prediction is explained.",
    "graph_units": "Neurons, or the features of transcoders that stand for every MLP of the model.",
    "graph_folded": (
        "Heads are then not nodes: an edge sums all paths through any number of heads, as in circuit-tracer."
    ),
    "graph_most": (
        "The maximum number of head outputs and units, those with the largest effects on the target, that become "
        "nodes. The others are summed by layer and position in nodes without inputs."
    ),
    "graph_node": (
        "Weight: what an edge contributes, in the unit of the node that it goes into; for a head's output that is "
        "its effect on the target. Effect on target: the same times the target's slope with respect to that node. "
        "Click a row to open its node."
    ),
    "graph_edge": "The largest first, by their effect on the target (logits).",
    "graph_check": (
        "The nodes with the most influence are ablated in the model itself, each alone and all together: a head's or "
        "neuron's output is 0 at its position, a feature's is subtracted from the MLP's output. Predicted: by the "
        "graph. Measured: the target when everything else is recomputed, patterns and norms too. Frozen: recomputed "
        "with patterns and norm scales frozen as in the graph. A difference between predicted and frozen is due to "
        "MLPs, between frozen and measured to attention patterns and norm scales. All that was left out is ablated "
        "as well, which tells what the graph cannot see."
    ),
    "graph_groups": (
        "Nodes grouped by hand: they are in the link, and in the json as supernodes. Effects of nodes on one path "
        "count twice in the sum."
    ),
    "graph_file": (
        "The kept part of the graph as circuit-tracer's json, which Neuronpedia opens. With heads in the edges it is a "
        "graph of circuit-tracer's own kind; heads' writes and neurons are types of node that it does not have."
    ),
    "features": (
        "A dictionary (a sparse autoencoder or a transcoder) writes an activation of the model as a sum of a few of "
        "many learned directions, its features, each times its activation. What it does not explain is its "
        "reconstruction error, which every sum includes."
    ),
    "dictionary": (
        "One that comes with the model, or the folder or hub name of another: SAELens's, Gemma Scope's, "
        "circuit-tracer's."
    ),
    "features_by": (
        "By the largest activation in the prompt; or by what a feature, where it is active at the token, contributes "
        "directly to target − distractor, which are chosen on Why."
    ),
    "features_layer": "Which of the dictionaries that were opened together is used, by the activation that it reads.",
    "features_token": "The token that the tables of the chosen feature are about.",
    "feature": (
        "A feature's encoder row says what makes it active, its decoder row what it writes at an activation of 1. "
        "Click a cell above or type a number to choose one."
    ),
    "feature_number": "Any feature of the dictionary by its number, active here or not.",
    "feature_made": (
        "The encoder's product with the stream, split by the components that wrote to that stream: embeddings, "
        "heads, MLPs. With the "
        "encoder's bias the parts add up to the activation, where the feature is active."
    ),
    "feature_tokens": (
        "The decoder row's direct effect on the logits, through the final norm at its scale at this token."
    ),
    "feature_nearest": "The features whose decoder rows have the largest cosine with this one's.",
    "feature_readers": (
        "How much a head's query, key or value circuit reads of the feature's direction: the norm of the product "
        "over both norms (composition), from the weights alone."
    ),
    "corpus_units": (
        "From a scan of this model over many documents: the share of tokens at which it is active (above 0), "
        "the strongest texts and some weaker ones, by quarters of the scan's first sequences, coloured by its "
        "activation, and the tokens that sequences peak at. A sequence's first token is not counted."
    ),
    "corpus_steps": (
        "The metric of the chosen heads in the scans of this model's training steps, with 95% intervals. A head is "
        "half way at the step from which its metric stays closer to its last value than to its first."
    ),
    "experiments": (
        "One measure over a set of prompts: the mean over the rows with a 95% interval, the share of rows that have"
        " the mean's sign, and the rows that deviate most."
    ),
    "prompt_set": (
        "A table of prompts: clean, corrupted, answers and wrong answers, and names of positions. The difference is"
        " the mean logit of the answers less that of the wrong answers, after the prompt."
    ),
    "experiment_cell": (
        "Each point is a row of the set; the bar across is the mean, the thick line its 95% interval. Without "
        "spread it is a fact of the model, with two heaps the mean is of no row."
    ),
    "experiment_deviating": "The rows farthest from the mean of this cell, of which one opens as prompts A and B.",
    "prompt_set_b": (
        "A second set, measured beside the first on the same model. Another model is chosen in the prompt bar."
    ),
    "rows_shown": "Which rows are listed: all, those that the model answers correctly or wrongly, or those not used.",
    "exp_measure": (
        "What is measured of every row: the direct effect on the logit difference, what patching, ablating or a "
        "path does to it, what the logit lens reads of it after each layer, where heads attend, or the circuit "
        "behind it."
    ),
    "exp_direction": (
        "Clean into corrupted (denoising) asks what suffices to restore the answer; corrupted into clean (noising) "
        "what is needed for it. Either way 0 changes nothing and 1 goes all the way to the other run."
    ),
    "exp_circ_method": (
        "How every edge is scored. EAP: the change of what is written times the gradient for what is read. EAP-IG: the "
        "mean gradient on the way to the baseline, of the embeddings (inputs) or of each layer's heads and each MLP "
        "(activations). Clean-corrupted: the mean of both gradients. Exact patching: one run for each edge. "
        "Information flow routes: the share of what is written in what is read, without a baseline."
    ),
    "exp_circ_baseline": (
        "What comes along an edge outside the circuit: what the row's corrupted prompt has there, its mean over all "
        "clean prompts and positions, or over the prompts at each position, or nothing."
    ),
    "exp_circ_unit": (
        "What a circuit is chosen from: edges; nodes (heads and MLPs, with all edges that leave them); or neurons, the "
        "dimensions of what each node writes, of which the others come from the baseline."
    ),
    "exp_circ_share": (
        "How many of all edges, nodes or neurons the circuit has. Auto is 1%, or more where that is fewer than 40 "
        "edges. Another size scores nothing anew."
    ),
    "exp_circ_beside": "The overlap with the circuit of this size that another method finds on the same rows.",
    "exp_circ_file": "The overlap with a circuit that was uploaded: EAP-IG's or MIB's json or pt.",
    "exp_circ_selection": (
        "Largest: the edges with the largest scores of all. Greedy: the largest of those that lead to what is in "
        "already, from the logits up."
    ),
    "exp_circ_steps": "So many gradients on the way to the baseline are averaged (integrated gradients).",
    "exp_circ_held_out": "The share of the rows that are not scored, and that circuits are measured on instead.",
    "exp_circ_rows": "The first so many rows are used, and the results say that others are left out.",
    "exp_circ_list": (
        "The score is what the metric would change by if this part alone came from the baseline, mean over the rows "
        "that are scored: negative where it helps. Share of resamples: how often it is in the circuit of this size "
        "when the rows are drawn anew (200 bootstrap samples)."
    ),
    "exp_only_correct": "Leaves out the rows in which the model prefers a wrong answer; the results say so.",
    "exp_by": "Whole: a part is taken at all positions together. By position: at one at a time.",
    "exp_positions": (
        "By the names of the set's positions, token by token where all prompts have one length, or counted from the"
        " end. Nothing is padded."
    ),
    "exp_interval": (
        "Bootstrap resamples the rows, which suits what is skewed; Student's t supposes that the mean is normally "
        "distributed."
    ),
    "exp_ablation": (
        "What replaces the part: zeros, its mean over the set at each position, or its value in another row."
    ),
}

# Training data and purpose of each model that the list knows by name.
MODELS = {
    "smollm2": (
        "SmolLM2-135M-Instruct, trained on the web's text and code, then to follow instructions: good for watching a "
        "real model recall facts and, begun with its chat template, talk."
    ),
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
