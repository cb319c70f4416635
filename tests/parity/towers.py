"""The vision towers of CLIP (arXiv:2103.00020) and SigLIP (arXiv:2303.15343) in plain PyTorch, small, with drawn weights.

Modules have timm's names; clip_huggingface and siglip_huggingface give the same numbers Hugging Face's.
"""
import re

import torch
import torch.nn as nn
import torch.nn.functional as F

GELU = {"clip": lambda x: x * torch.sigmoid(1.702 * x), "gelu": F.gelu,
        "siglip": lambda x: 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x ** 3)))}


class Mlp(nn.Module):
    def __init__(self, d, wide, act):
        super().__init__()
        self.fc1, self.fc2, self.act = nn.Linear(d, wide), nn.Linear(wide, d), GELU[act]

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


def attend(q, k, v, n):
    """(N, Q, D), (N, L, D), (N, L, D) -> (N, Q, D)"""
    q, k, v = (t.unflatten(2, (n, -1)).transpose(1, 2) for t in (q, k, v))
    return (((q @ k.transpose(2, 3)) / q.shape[-1] ** 0.5).softmax(-1) @ v).transpose(1, 2).flatten(2)


class Attention(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.qkv, self.proj, self.n = nn.Linear(d, 3 * d), nn.Linear(d, d), n

    def forward(self, x):
        return self.proj(attend(*self.qkv(x).chunk(3, -1), self.n))


class Block(nn.Module):
    def __init__(self, d, n, wide, eps, act):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d, eps), nn.LayerNorm(d, eps)
        self.attn, self.mlp = Attention(d, n), Mlp(d, wide, act)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Pool(nn.Module):
    """A learned query attends to all tokens (arXiv:2106.04560, section 3.2)."""

    def __init__(self, d, n, wide):
        super().__init__()
        self.latent = nn.Parameter(torch.zeros(1, 1, d))
        self.q, self.kv, self.proj, self.norm = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d), nn.LayerNorm(d, 1e-6)
        self.mlp, self.n = Mlp(d, wide, "siglip"), n

    def forward(self, x):
        k, v = self.kv(x).chunk(2, -1)
        x = self.proj(attend(self.q(self.latent).expand(len(x), -1, -1), k, v, self.n))
        return (x + self.mlp(self.norm(x)))[:, 0]


class Tower(nn.Module):
    def __init__(self, family, d=64, n=4, layers=2, wide=96, patch=8, side=40, out=24, act=None):
        super().__init__()
        clip = family == "clip"
        eps, grid = 1e-5 if clip else 1e-6, side // patch
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, d, patch, patch, bias=not clip)})
        self.pos_embed = nn.Parameter(torch.zeros(1, grid * grid + clip, d))
        self.blocks = nn.Sequential(*(Block(d, n, wide, eps, act or family) for _ in range(layers)))
        self.norm = nn.LayerNorm(d, eps)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, d)) if clip else None
        self.norm_pre = nn.LayerNorm(d, eps) if clip else nn.Identity()
        self.head = nn.Linear(d, out, bias=False) if clip else nn.Identity()
        self.attn_pool = None if clip else Pool(d, n, wide)
        torch.manual_seed(5)
        for name, value in self.named_parameters():
            near_one = re.search(r"norm\w*\.weight$", name)
            value.data = (1 + 0.2 * torch.randn_like(value)).abs() if near_one else 0.15 * torch.randn_like(value)

    def forward(self, x):
        """Returns the pooled feature (N, D) and the map (N, D, h, w), both after the last norm."""
        x = self.patch_embed["proj"](x)
        grid = x.shape[2:]
        x = x.flatten(2).transpose(1, 2)
        if self.cls_token is not None:
            x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1)
        x = self.norm(self.blocks(self.norm_pre(x + self.pos_embed)))
        if self.attn_pool is not None:
            return self.attn_pool(x), x.transpose(1, 2).unflatten(2, grid)
        return x[:, 0], x[:, 1:].transpose(1, 2).unflatten(2, grid)


COMMON = [(r"^patch_embed.proj", "embeddings.patch_embedding"), (r"^pos_embed$", "embeddings.position_embedding.weight"),
          (r"^norm\.", "post_layernorm."), (r"^blocks\.(\d+)\.norm(\d)", r"encoder.layers.\1.layer_norm\2"),
          (r"^blocks\.(\d+)\.attn\.proj", r"encoder.layers.\1.self_attn.out_proj"), (r"^blocks\.(\d+)\.mlp", r"encoder.layers.\1.mlp"),
          (r"^cls_token$", "embeddings.class_embedding"), (r"^norm_pre", "pre_layrnorm"), (r"^attn_pool\.latent", "head.probe"),
          (r"^attn_pool\.proj", "head.attention.out_proj"), (r"^attn_pool\.norm", "head.layernorm"), (r"^attn_pool\.mlp", "head.mlp")]


def huggingface(w):
    """Gives timm's names their counterparts; adds parts of the text tower, which a whole model's file holds."""
    out = {}
    for key, value in w.items():
        m = re.match(r"blocks\.(\d+)\.attn\.qkv\.(\w+)", key)
        if m:
            for letter, part in zip("qkv", value.chunk(3)):
                out[f"vision_model.encoder.layers.{m[1]}.self_attn.{letter}_proj.{m[2]}"] = part
        elif key == "head.weight":
            out["visual_projection.weight"] = value
        elif key.startswith("attn_pool.q."):
            out["vision_model.head.attention.in_proj_" + key[12:]] = torch.cat([value, w[key.replace(".q.", ".kv.")]])
        elif not key.startswith("attn_pool.kv."):
            if key in ("cls_token", "pos_embed"):
                value = value[0] if key == "pos_embed" else value[0, 0]
            for pattern, to in COMMON:
                key = re.sub(pattern, to, key)
            out["vision_model." + key] = value
    return out


def whole_model(w):
    """The file of a model with both towers."""
    text = {"text_model.encoder.layers.0.self_attn.q_proj.weight": torch.zeros(8, 8), "text_model.embeddings.token_embedding.weight": torch.zeros(9, 8),
            "logit_scale": torch.tensor(2.0), "vision_model.embeddings.position_ids": torch.arange(26)[None]}
    return huggingface(w) | text


def config(family, act=None):
    """Returns the trunk's keys of a configuration."""
    more = f", ACTIVATION: {act}" if act else ""
    return (f"NAME: {family}, {family.upper()}: {{IMAGE_SIZE: 40, PATCH_SIZE: 8, NUM_LAYERS: 2, NUM_HEADS: 4, HIDDEN_DIM: 64, "
            f"MLP_DIM: 96{more}}}")
