# Writes DICOM files by pydicom (python3-pydicom, python3-numpy, python3-pil), and next to each NAME.dcm the pixels that are
# expected of it, NAME.ppm, from pydicom's own modality and window functions.
# usage: dicom.py FOLDER
import io
import os
import sys

import numpy as np
from PIL import Image
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.pixel_data_handlers.util import apply_modality_lut, apply_voi_lut, convert_color_space
from pydicom.sequence import Sequence
from pydicom.dataset import Dataset
from pydicom.uid import (
    ExplicitVRBigEndian, ExplicitVRLittleEndian, ImplicitVRLittleEndian, JPEGBaseline8Bit, generate_uid)

folder = sys.argv[1]
H, W = 13, 20
rng = np.random.RandomState(3)


def write(name, pixels, syntax=ExplicitVRLittleEndian, meaning="MONOCHROME2", data=None, **facts):
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.7"
    meta.MediaStorageSOPInstanceUID = generate_uid(entropy_srcs=[name])
    meta.TransferSyntaxUID = syntax
    d = FileDataset(name, {}, file_meta=meta, preamble=b"\0" * 128)
    d.is_little_endian = syntax != ExplicitVRBigEndian
    d.is_implicit_VR = syntax == ImplicitVRLittleEndian
    inner = Dataset()
    inner.Rows = 999  # facts inside a sequence do not count
    inner.is_undefined_length_sequence_item = True
    d.ReferencedImageSequence = Sequence([inner])
    d["ReferencedImageSequence"].is_undefined_length = True
    d.SamplesPerPixel = 3 if meaning in ("RGB", "YBR_FULL", "YBR_FULL_422") else 1
    d.PhotometricInterpretation = meaning
    if d.SamplesPerPixel == 3:
        d.PlanarConfiguration = facts.pop("planes", 0)
    d.Rows, d.Columns = H, W
    d.BitsAllocated = 8 * pixels.dtype.itemsize
    d.BitsStored = facts.pop("stored", d.BitsAllocated)
    d.HighBit = d.BitsStored - 1
    d.PixelRepresentation = int(pixels.dtype.kind == "i")
    for key, value in facts.items():
        setattr(d, key, value)
    raw = pixels.astype(pixels.dtype.newbyteorder(">")) if syntax == ExplicitVRBigEndian else pixels
    d.PixelData = data or raw.tobytes() + b"\0" * (pixels.nbytes % 2)
    d["PixelData"].VR = "OW" if d.BitsAllocated == 16 else "OB"
    if data:
        d["PixelData"].is_undefined_length = True
    d.save_as(os.path.join(folder, name + ".dcm"), write_like_original=False)
    return d


def expect(name, levels):
    if levels.ndim == 2:
        levels = np.stack([levels] * 3, -1)
    Image.fromarray(levels.astype(np.uint8)).save(os.path.join(folder, name + ".ppm"))


def grey(name, values, stored_values=None, **how):
    d = write(name, values, **how)
    x = apply_modality_lut(values if stored_values is None else stored_values, d).astype(np.float64)
    if "WindowCenter" in d:
        bits = d.BitsStored
        c, w = [float(v[0] if hasattr(v, "__len__") and not isinstance(v, str) else v) for v in (d.WindowCenter, d.WindowWidth)]
        y = np.clip((x - (c - 0.5)) / (w - 1) + 0.5, 0, 1)
        voi = apply_voi_lut(x, d, prefer_lut=False)  # scaled to the range of the stored bits
        low = -(2 ** (bits - 1)) if d.PixelRepresentation else 0
        low, high = [v * float(d.get("RescaleSlope", 1)) + float(d.get("RescaleIntercept", 0)) for v in (low, low + 2 ** bits - 1)]
        assert np.allclose((voi - low) / (high - low), y, atol=1e-6)
    else:
        y = (x - x.min()) / (x.max() - x.min())
    if d.PhotometricInterpretation == "MONOCHROME1":
        y = 1 - y
    expect(name, np.floor(255 * y + 0.5))


u8 = rng.randint(0, 256, (H, W)).astype(np.uint8)
u12 = rng.randint(0, 4096, (H, W)).astype(np.uint16)
i16 = rng.randint(-2000, 3000, (H, W)).astype(np.int16)
rgb = rng.randint(0, 256, (H, W, 3)).astype(np.uint8)
grey("grey8", u8)
grey("few", u8 % 4 + 100)  # four levels span the whole window: half a level off shows
grey("grey8_white", u8, meaning="MONOCHROME1")
grey("grey12", u12, stored=12, WindowCenter=[1800, 100], WindowWidth=[900, 10])
grey("scan", i16, RescaleSlope="1.5", RescaleIntercept="-1024", WindowCenter="40", WindowWidth="400")
grey("scan_implicit", i16, syntax=ImplicitVRLittleEndian, WindowCenter="40", WindowWidth="400")
grey("scan_big", i16, syntax=ExplicitVRBigEndian, WindowCenter="40.5", WindowWidth="401")
i12 = (i16 % 4096).astype(np.int16)
grey("signed12", (i12 & 0xFFF).astype(np.int16), np.where(i12 & 0x800, i12.astype(int) - 4096, i12), stored=12)
write("rgb", rgb, meaning="RGB")
expect("rgb", rgb)
write("rgb_planes", rgb.transpose(2, 0, 1).copy(), meaning="RGB", planes=1)
expect("rgb_planes", rgb)
write("ybr", rgb, meaning="YBR_FULL")
expect("ybr", convert_color_space(rgb, "YBR_FULL", "RGB"))
frames = np.stack([u8, 255 - u8])
write("film", frames, NumberOfFrames=2)
expect("film", np.floor(255 * (u8 - float(u8.min())) / (float(u8.max()) - u8.min()) + 0.5))


def jpeg(pixels):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=95)
    return out.getvalue()


smooth = np.add.outer(np.arange(H) * 9, np.arange(W) * 7).astype(np.uint8)
code = jpeg(smooth)
grey("jpeg_grey", np.array(Image.open(io.BytesIO(code))), syntax=JPEGBaseline8Bit, data=encapsulate([code]),
     WindowCenter="120", WindowWidth="200")
color = np.stack([smooth, smooth[::-1], smooth[:, ::-1]], -1)
code = jpeg(color)
write("jpeg_color", color, syntax=JPEGBaseline8Bit, meaning="YBR_FULL_422", data=encapsulate([code]))
expect("jpeg_color", np.array(Image.open(io.BytesIO(code)).convert("RGB")))
write("jpeg_lossless", u8, syntax="1.2.840.10008.1.2.4.70", data=encapsulate([code]))
