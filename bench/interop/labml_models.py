"""Builds labml-nn's models from its modules, as its experiments do. The experiments cannot be used, because they import
modules that no longer exist."""
import torch
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.fnet import FNetMix
from labml_nn.transformers.models import EmbeddingsWithPositionalEncoding, Encoder, TransformerLayer


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
