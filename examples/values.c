/* Trains SimCLR on a folder of images from values in the program, without a YAML file, and prints the loss of each update.
 *
 *   cc values.c $(pkg-config --cflags --libs sslrun) -o values
 *   ./values FOLDER RUN */
#include <sslrun.h>
#include <stdio.h>

static int on_step(void *arg, const SrTrainStep *step) {
    (void)arg;
    printf("update %lld of %lld: loss %.4f\n", (long long)step->step, (long long)step->total_steps,
           step->loss);
    return 0;
}

static int fill(SrTrainConfig *c, const char *folder, const char *run) {
    const int64_t dims[] = {512, 512, 64};
    const char *paths[] = {folder};
    return sr_train_config_texts(c, "DATA.TRAIN.DATA_PATHS", paths, 1) ||
           sr_train_config_int(c, "DATA.TRAIN.BATCHSIZE_PER_REPLICA", 4) ||
           sr_train_config_text(c, "DATA.TRAIN.COLLATE_FUNCTION", "simclr_collator") ||
           sr_train_config_text(c, "DATA.TRAIN.TRANSFORMS.0.name", "ImgReplicatePil") ||
           sr_train_config_text(c, "DATA.TRAIN.TRANSFORMS.1.name", "RandomResizedCrop") ||
           sr_train_config_int(c, "DATA.TRAIN.TRANSFORMS.1.size", 32) ||
           sr_train_config_text(c, "DATA.TRAIN.TRANSFORMS.2.name", "ToTensor") ||
           sr_train_config_text(c, "DATA.TRAIN.TRANSFORMS.3.name", "Normalize") ||
           sr_train_config_bool(c, "TEST_MODEL", 0) ||
           sr_train_config_text(c, "MODEL.TRUNK.NAME", "resnet18") ||
           sr_train_config_text(c, "MODEL.HEAD.PARAMS.0.0", "mlp") ||
           sr_train_config_ints(c, "MODEL.HEAD.PARAMS.0.1.dims", dims, 3) ||
           sr_train_config_text(c, "LOSS.name", "simclr_info_nce_loss") ||
           sr_train_config_number(c, "LOSS.simclr_info_nce_loss.temperature", 0.2) ||
           sr_train_config_int(c, "LOSS.simclr_info_nce_loss.buffer_params.embedding_dim", 64) ||
           sr_train_config_int(c, "OPTIMIZER.num_epochs", 2) ||
           sr_train_config_text(c, "OPTIMIZER.param_schedulers.lr.name", "cosine") ||
           sr_train_config_number(c, "OPTIMIZER.param_schedulers.lr.start_value", 0.02) ||
           sr_train_config_text(c, "CHECKPOINT.DIR", run);
}

int main(int argc, char **argv) {
    SrTrainConfig *config = NULL;
    if (argc != 3) {
        fprintf(stderr, "usage: values FOLDER RUN\n");
        return 2;
    }
    int failed = sr_train_config_open(NULL, &config) || fill(config, argv[1], argv[2]) ||
                 sr_train_config_run(config, on_step, NULL);
    if (failed)
        fprintf(stderr, "%s\n", sr_status_message());
    sr_train_config_close(config);
    return failed;
}
