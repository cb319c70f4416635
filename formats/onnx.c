// Encodes ONNX in protobuf's wire format: a field is a tag (number << 3 | wire type) followed by a
// varint, four bytes, or a length and bytes.  Comments name the fields of onnx.proto.
#include "formats/onnx.h"

#include <inttypes.h>
#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/version.h"

enum { VARINT = 0, BYTES = 2, FIXED32 = 5 };             // wire types
enum { FLOAT_TENSOR = 1, INT64_TENSOR = 7 };             // TensorProto.DataType
enum { FLOAT_VALUE = 1, INT_VALUE = 2, INTS_VALUE = 7 }; // AttributeProto.AttributeType
enum { IR_VERSION = 7, MAX_VARINT = 10, MAX_PROTOBUF = INT32_MAX };

struct SrOnnxWeight {
    SrText head; // fields of TensorProto without raw_data
    const void *data;
    size_t bytes;
};

// ---- fields -------------------------------------------------------------------------------------

static int varint(uint64_t value, char out[MAX_VARINT]) {
    int n = 0;
    do {
        out[n] = (char)((value & 127) | (value > 127 ? 128 : 0));
        value >>= 7;
        n++;
    } while (value);
    return n;
}

static void add_varint(SrText *out, uint64_t value) {
    char bytes[MAX_VARINT];
    sr_text_addn(out, bytes, (size_t)varint(value, bytes));
}

static void add_int(SrText *out, int field, int64_t value) {
    add_varint(out, (uint64_t)field << 3 | VARINT);
    add_varint(out, (uint64_t)value);
}

static void add_bytes(SrText *out, int field, const void *data, size_t bytes) {
    add_varint(out, (uint64_t)field << 3 | BYTES);
    add_varint(out, bytes);
    sr_text_addn(out, data, bytes);
}

static void add_string(SrText *out, int field, const char *s) {
    add_bytes(out, field, s, strlen(s));
}

// Writes a message as a field of another and empties its text.
static void add_message(SrText *out, int field, SrText *message) {
    out->failed |= message->failed;
    add_bytes(out, field, message->s ? message->s : "", message->len);
    sr_text_deinit(message);
}

// ---- the graph ----------------------------------------------------------------------------------

void sr_onnx_init(SrOnnx *onnx, const char *name) {
    *onnx = (SrOnnx){.status = SR_OK};
    add_string(&onnx->graph, 2, name);
}

void sr_onnx_deinit(SrOnnx *onnx) {
    for (int i = 0; i < onnx->n_weights; i++)
        sr_text_deinit(&onnx->weights[i].head);
    sr_free(onnx->weights);
    sr_text_deinit(&onnx->graph);
    sr_text_deinit(&onnx->node);
    sr_arena_deinit(&onnx->arena);
    *onnx = (SrOnnx){.status = SR_OK};
}

// A ValueInfoProto has the fields name (1) and type (2).  The type's tensor_type (1) has elem_type
// (1) and shape (2), and each dim (1) of the shape has dim_value (1) or dim_param (2).
static void add_value(SrOnnx *onnx, int field, const char *name, SrShape shape) {
    SrText dims = SR_TEXT_INIT, tensor = SR_TEXT_INIT, type = SR_TEXT_INIT, value = SR_TEXT_INIT;
    for (int i = 0; i < shape.rank; i++) {
        SrText dim = SR_TEXT_INIT;
        if (i == 0)
            add_string(&dim, 2, "N");
        else
            add_int(&dim, 1, shape.d[i]);
        add_message(&dims, 1, &dim);
    }
    add_int(&tensor, 1, FLOAT_TENSOR);
    add_message(&tensor, 2, &dims);
    add_message(&type, 1, &tensor);
    add_string(&value, 1, name);
    add_message(&value, 2, &type);
    add_message(&onnx->graph, field, &value);
}

void sr_onnx_input(SrOnnx *onnx, const char *name, SrShape shape) {
    add_value(onnx, 11, name, shape);
}

void sr_onnx_output(SrOnnx *onnx, const char *name, SrShape shape) {
    add_value(onnx, 12, name, shape);
}

// A TensorProto has the fields dims (1), data_type (2), name (8) and raw_data (9).
void sr_onnx_weight(SrOnnx *onnx, const char *name, SrTensor tensor) {
    if (onnx->n_weights == onnx->cap_weights) {
        int grown = SR_MAX(64, 2 * onnx->cap_weights);
        SrOnnxWeight *bigger = sr_realloc(onnx->weights, (size_t)grown * sizeof *bigger);
        if (!bigger) {
            onnx->status = sr_out_of_memory("an ONNX graph");
            return;
        }
        onnx->weights = bigger;
        onnx->cap_weights = grown;
    }
    SrOnnxWeight *w = &onnx->weights[onnx->n_weights++];
    *w = (SrOnnxWeight){.data = tensor.data,
                        .bytes =
                            (size_t)sr_shape_count(tensor.shape) * sr_dtype_bytes(tensor.dtype)};
    for (int i = 0; i < tensor.shape.rank; i++)
        add_int(&w->head, 1, tensor.shape.d[i]);
    add_int(&w->head, 2, tensor.dtype == SR_I64 ? INT64_TENSOR : FLOAT_TENSOR);
    add_string(&w->head, 8, name);
}

void sr_onnx_numbers(SrOnnx *onnx, const char *name, const int64_t *values, int n) {
    void *copy = sr_arena_copy(&onnx->arena, values, (size_t)n * sizeof *values);
    if (copy)
        sr_onnx_weight(onnx, name, (SrTensor){SR_SHAPE(n), SR_I64, copy});
    else
        onnx->status = sr_out_of_memory("an ONNX graph");
}

// A NodeProto has the fields input (1), output (2), name (3), op_type (4) and attribute (5).
void sr_onnx_node(SrOnnx *onnx, const char *op, const char *const *in, int n_in, const char *out) {
    for (int i = 0; i < n_in; i++)
        add_string(&onnx->node, 1, in[i]);
    add_string(&onnx->node, 2, out);
    add_string(&onnx->node, 3, out);
    add_string(&onnx->node, 4, op);
}

// An AttributeProto has the fields name (1), f (2), i (3), ints (8) and type (20).
static void add_attribute(SrOnnx *onnx, const char *name, int type, SrText *rest) {
    SrText attribute = SR_TEXT_INIT;
    add_string(&attribute, 1, name);
    sr_text_addn(&attribute, rest->s, rest->len);
    attribute.failed |= rest->failed;
    add_int(&attribute, 20, type);
    add_message(&onnx->node, 5, &attribute);
    sr_text_deinit(rest);
}

void sr_onnx_int(SrOnnx *onnx, const char *attribute, int64_t value) {
    SrText text = SR_TEXT_INIT;
    add_int(&text, 3, value);
    add_attribute(onnx, attribute, INT_VALUE, &text);
}

void sr_onnx_ints(SrOnnx *onnx, const char *attribute, const int64_t *values, int n) {
    SrText text = SR_TEXT_INIT;
    for (int i = 0; i < n; i++)
        add_int(&text, 8, values[i]);
    add_attribute(onnx, attribute, INTS_VALUE, &text);
}

void sr_onnx_float(SrOnnx *onnx, const char *attribute, float value) {
    SrText text = SR_TEXT_INIT;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_varint(&text, 2 << 3 | FIXED32);
    for (int i = 0; i < 4; i++)
        sr_text_addn(&text, (char[]){(char)(bits >> (8 * i) & 255)}, 1);
    add_attribute(onnx, attribute, FLOAT_VALUE, &text);
}

void sr_onnx_end(SrOnnx *onnx) { add_message(&onnx->graph, 1, &onnx->node); }

// ---- the file -----------------------------------------------------------------------------------

// Returns the size of a field with a tag below 16, a length and `bytes` bytes.
static size_t field_bytes(size_t bytes) {
    char scratch[MAX_VARINT];
    return 1 + (size_t)varint(bytes, scratch) + bytes;
}

static size_t weight_bytes(const SrOnnxWeight *w) { return w->head.len + field_bytes(w->bytes); }

// Writes tag (of a field below 16) and length; the caller writes the contents.
static void put_head(FILE *f, int field, size_t bytes) {
    char head[1 + MAX_VARINT] = {(char)(field << 3 | BYTES)};
    fwrite(head, 1, 1 + (size_t)varint(bytes, head + 1), f);
}

// A ModelProto has the fields ir_version (1), producer_name (2), producer_version (3), graph (7)
// and opset_import (8), which holds version (2).
static SrStatus write_model(const SrOnnx *onnx, FILE *f, size_t graph_bytes) {
    SrText head = SR_TEXT_INIT, opset = SR_TEXT_INIT;
    add_int(&head, 1, IR_VERSION);
    add_string(&head, 2, "sslrun");
    add_string(&head, 3, SR_VERSION);
    add_int(&opset, 2, SR_ONNX_OPSET);
    add_message(&head, 8, &opset);
    bool failed = head.failed;
    fwrite(head.s ? head.s : "", 1, head.len, f);
    sr_text_deinit(&head);
    put_head(f, 7, graph_bytes);
    fwrite(onnx->graph.s, 1, onnx->graph.len, f);
    SrBar bar;
    sr_bar_begin(&bar, "tensors written", onnx->n_weights);
    for (int i = 0; i < onnx->n_weights; i++) {
        const SrOnnxWeight *w = &onnx->weights[i];
        sr_bar_at(&bar, i);
        put_head(f, 5, weight_bytes(w)); // initializer
        fwrite(w->head.s, 1, w->head.len, f);
        put_head(f, 9, w->bytes);
        if (w->bytes)
            fwrite(w->data, 1, w->bytes, f);
    }
    sr_bar_end(&bar);
    return failed ? sr_out_of_memory("an ONNX graph") : SR_OK;
}

SrStatus sr_onnx_save(SrOnnx *onnx, const char *path) {
    SrFileWriter writer;
    size_t bytes = onnx->graph.len;
    bool failed = onnx->graph.failed;
    SR_TRY(onnx->status);
    for (int i = 0; i < onnx->n_weights; i++) {
        bytes += field_bytes(weight_bytes(&onnx->weights[i]));
        failed |= onnx->weights[i].head.failed;
    }
    if (failed)
        return sr_out_of_memory("an ONNX graph");
    if (bytes > MAX_PROTOBUF - 1024)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: the graph needs %zu bytes, but an ONNX file may have at most 2 GiB", path,
                bytes);
    SR_TRY(sr_file_begin(&writer, path));
    SrStatus status = write_model(onnx, writer.f, bytes);
    if (status == SR_OK)
        return sr_file_commit(&writer);
    sr_file_abort(&writer);
    return status;
}
