"""Builds labml-nn's models from its modules, as its experiments do. The experiments cannot be used, because they import
modules that no longer exist."""
import torch
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.fnet import FNetMix
from labml_nn.transformers.gmlp import GMLPBlock
from labml_nn.transformers.models import EmbeddingsWithPositionalEncoding, Encoder, Generator, TransformerLayer


class FNetClassifier(torch.nn.Module):  # as in labml_nn/transformers/fnet/experiment.py
    def __init__(self, d, d_ffn, layers, vocabulary, classes, longest=5000):
        super().__init__()
        layer = TransformerLayer(d_model=d, self_attn=FNetMix(), feed_forward=FeedForward(d, d_ffn), dropout_prob=0.1)
        self.src_embed = EmbeddingsWithPositionalEncoding(d, vocabulary, longest)
        self.encoder = Encoder(layer, layers)
        self.generator = torch.nn.Linear(d, classes)
        self.eval()

    def forward(self, ids):
        """Returns the logits (b, classes) of the last token for ids (b, n)."""
        return self.generator(self.encoder(self.src_embed(ids.T), None)[-1])


class GmlpLanguageModel(torch.nn.Module):  # as in labml_nn/transformers/basic/autoregressive_experiment.py
    def __init__(self, d, d_ffn, seq_len, layers, vocabulary):
        super().__init__()
        self.src_embed = EmbeddingsWithPositionalEncoding(d, vocabulary)
        self.encoder = Encoder(GMLPBlock(d, d_ffn, seq_len), layers)
        self.generator = Generator(vocabulary, d)

    def forward(self, x):
        """Returns the logits (n, b, vocabulary) for ids (n, b)."""
        mask = torch.tril(torch.ones(len(x), len(x))).bool().unsqueeze(-1)
        return self.generator(self.encoder(self.src_embed(x), mask))
