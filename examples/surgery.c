/* A ResNet-18 that ends after layer3, with another activation and a probe, written as weights and as ONNX.
 *
 *   cc surgery.c $(pkg-config --cflags --libs sslrun) -o surgery
 *   ./surgery OUT.safetensors OUT.onnx [WEIGHTS] */
#include <sslrun.h>
#include <stdio.h>

enum { BATCH = 2, SIZE = 64 };

static int edit(SrModelGraph *graph) {
    int status = sr_model_graph_cut(graph, "layer3");
    if (status == 0)
        status = sr_model_graph_replace(graph, "relu", "gelu", NULL);
    if (status == 0) /* a linear layer with new weights, from 256 to 16 channels at each place */
        status = sr_model_graph_insert(graph, "layer3", "probe", "conv2d",
                                       "{out_channels: 16, kernel_h: 1}");
    return status;
}

static void list(const SrModelGraph *graph) {
    SrGraphNode node;
    SrTensorInfo tensor;
    int nodes = 0, tensors = 0;
    while (sr_model_graph_node(graph, nodes, &node))
        nodes++;
    while (sr_model_graph_tensor(graph, tensors, &tensor))
        tensors++;
    printf("%d nodes, the last is %s [%d, %d, %d, %d]\n", nodes, node.name, node.shape[0],
           node.shape[1], node.shape[2], node.shape[3]);
    printf("%d tensors, the last is %s of %lld numbers\n", tensors, tensor.name,
           (long long)tensor.count);
}

int main(int argc, char **argv) {
    SrModelGraph *graph;
    if (argc < 3) {
        fprintf(stderr, "usage: surgery OUT.safetensors OUT.onnx [WEIGHTS]\n");
        return 2;
    }
    int status =
        sr_model_graph_open("resnet18", argc > 3 ? argv[3] : NULL, BATCH, SIZE, SIZE, &graph);
    if (status == 0)
        status = edit(graph);
    if (status == 0) {
        list(graph);
        status = sr_model_graph_save(graph, argv[1]);
    }
    if (status == 0)
        status = sr_model_graph_export(graph, "layer3.1.probe:features", argv[2]);
    if (status != 0)
        fprintf(stderr, "%s\n", sr_status_message());
    sr_model_graph_close(graph);
    return status != 0;
}
