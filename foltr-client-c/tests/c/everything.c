/* Calls every function, well and badly. Arguments: two folders that are not there, and the port of a server that is not
 * there. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "foltr_device.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s; last error: %s\n", __LINE__, #condition, foltr_last_error());                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
/* A call ends like this, and the last error has these words. */
#define FAILS(call, status, words) CHECK((call) == (status) && strstr(foltr_last_error(), (words)) != NULL)
#define WORKS(call) CHECK((call) == FOLTR_OK && foltr_last_error()[0] == 0)

static const char *const NAMES[] = {"fits", "opened", "new"};
static const int32_t KINDS[] = {FOLTR_NUMBER, FOLTR_COUNT, FOLTR_FLAG};
static const float DOCUMENTS[] = {0.5f, 3, 0, 0.25f, 0, 1};

static foltr_options named_options(void) {
    foltr_options options = foltr_options_default(3);
    options.names = NAMES;
    options.kinds = KINDS;
    return options;
}

static void opening(const char *folder) {
    foltr_options options = named_options();
    foltr_device *device = (foltr_device *)&options, *second;
    FAILS(foltr_device_open(NULL, &options, &device), FOLTR_ARGUMENT, "`folder` is NULL");
    CHECK(device == NULL);
    FAILS(foltr_device_open("", &options, &device), FOLTR_ARGUMENT, "`folder` is empty");
    FAILS(foltr_device_open("\xff", &options, &device), FOLTR_ARGUMENT, "`folder` is not UTF-8 from byte 0 on");
    FAILS(foltr_device_open(folder, NULL, &device), FOLTR_ARGUMENT, "`options` is NULL");
    FAILS(foltr_device_open(folder, &options, NULL), FOLTR_ARGUMENT, "`device` is NULL");
    FAILS(foltr_device_open_read_only(NULL, &options, &device), FOLTR_ARGUMENT, "`folder` is NULL");
    FAILS(foltr_device_open("/dev/null/device", &options, &device), FOLTR_STORE, "/dev/null/device");

    WORKS(foltr_device_open(folder, &options, &device));
    FAILS(foltr_device_open(folder, &options, &second), FOLTR_LOCKED, "is in use by process ");
    CHECK(second == NULL);
    WORKS(foltr_device_close(device));
    FAILS(foltr_device_close(device), FOLTR_ARGUMENT, "`device` is not open");
    FAILS(foltr_device_close(NULL), FOLTR_ARGUMENT, "`device` is NULL");
    FAILS(foltr_device_pause(device), FOLTR_ARGUMENT, "`device` is not open");
    FAILS(foltr_device_pause((foltr_device *)&options), FOLTR_ARGUMENT, "`device` is not open");
    WORKS(foltr_device_open(folder, &options, &second));
    CHECK(second != device);
    WORKS(foltr_device_close(second));
    options.kinds = NULL;
    FAILS(foltr_device_open(folder, &options, &second), FOLTR_ARGUMENT, "was made for other features");
}

static void wrong_options(const char *folder) {
    const char *twice[] = {"fits", "fits", "new"}, *missing[] = {"fits", NULL, "new"}, *bad[] = {"fits", "\xc3", "new"};
    const int32_t kinds[] = {FOLTR_NUMBER, FOLTR_COUNT, 9};
    const uint8_t no_pem[] = "no certificate";
    foltr_device *device;
    foltr_options options;
#define REFUSED(change, words)                                                                                         \
    options = named_options();                                                                                         \
    change;                                                                                                            \
    FAILS(foltr_device_open(folder, &options, &device), FOLTR_ARGUMENT, words)
    REFUSED(options.n_features = 0, "`options.n_features` is 0");
    REFUSED(options.n_features = SIZE_MAX, "`options.n_features`");
    REFUSED(options.names = twice, "two features named `fits`");
    REFUSED(options.names = missing, "`options.names[1]` is NULL");
    REFUSED(options.names = bad, "`options.names[1]` is not UTF-8");
    REFUSED(options.kinds = kinds, "`options.kinds[2]` is 9");
    REFUSED(options.normalisation = 7, "`options.normalisation` is 7");
    REFUSED(options.learning_rate = -1, "learning_rate");
    REFUSED(options.learning_rate = NAN, "learning_rate");
    REFUSED(options.list_length = 0, "list_length");
    REFUSED(options.proxy = "::", "`network.proxy`");
    REFUSED(options.proxy = "\xff", "`options.proxy` is not UTF-8");
    REFUSED((options.certificate_authority = no_pem, options.certificate_authority_length = sizeof no_pem),
            "`network.certificate_authority`");
    REFUSED((options.certificate_authority = no_pem, options.certificate_authority_length = SIZE_MAX),
            "no memory is so large");
}

static void lists(foltr_device *device) {
    size_t order[2] = {9, 9}, n_ranked = 9;
    uint64_t list, other;
    float wrong[6];
    WORKS(foltr_device_rank(device, DOCUMENTS, 2, order, &list, &n_ranked));
    CHECK(order[0] + order[1] == 1 && n_ranked == 2);
    WORKS(foltr_device_rank(device, DOCUMENTS, 2, order, &other, NULL));
    CHECK(list != other);

    FAILS(foltr_device_rank(NULL, DOCUMENTS, 2, order, &other, NULL), FOLTR_ARGUMENT, "`device` is NULL");
    FAILS(foltr_device_rank(device, NULL, 2, order, &other, NULL), FOLTR_ARGUMENT, "`features` is NULL");
    FAILS(foltr_device_rank(device, DOCUMENTS, 2, NULL, &other, NULL), FOLTR_ARGUMENT, "`order` is NULL");
    FAILS(foltr_device_rank(device, DOCUMENTS, 2, order, NULL, NULL), FOLTR_ARGUMENT, "`impression` is NULL");
    FAILS(foltr_device_rank(device, DOCUMENTS, 0, order, &other, NULL), FOLTR_FEATURES, "no candidates");
    FAILS(foltr_device_rank(device, DOCUMENTS, SIZE_MAX, order, &other, NULL), FOLTR_ARGUMENT, "`order` cannot have");
    FAILS(foltr_device_rank(device, DOCUMENTS, SIZE_MAX / 20, order, &other, NULL), FOLTR_ARGUMENT,
          "`features` cannot have");
    memcpy(wrong, DOCUMENTS, sizeof wrong);
    wrong[4] = 0.5f;
    FAILS(foltr_device_rank(device, wrong, 2, order, &other, NULL), FOLTR_FEATURES,
          "document 1, feature 1 (`opened`) is 0.5; it must be a whole number from 0 on");
    wrong[0] = NAN;
    FAILS(foltr_device_rank(device, wrong, 2, order, &other, NULL), FOLTR_FEATURES, "document 0, feature 0 (`fits`)");

    /* Behind what the model ranked: nothing to learn, and no mistake. */
    WORKS(foltr_device_clicked(device, list, 2));
    FAILS(foltr_device_clicked(device, 1000000, 0), FOLTR_UNKNOWN, "was never shown");
    FAILS(foltr_device_dismiss(device, 1000000), FOLTR_UNKNOWN, "was never shown");
    FAILS(foltr_device_clicked(NULL, list, 0), FOLTR_ARGUMENT, "`device` is NULL");
    FAILS(foltr_device_dismiss(NULL, list), FOLTR_ARGUMENT, "`device` is NULL");
    WORKS(foltr_device_clicked(device, list, 1));
    WORKS(foltr_device_clicked(device, list, 1));
    WORKS(foltr_device_dismiss(device, list));
    FAILS(foltr_device_clicked(device, list, 0), FOLTR_CLOSED, "has ended");
    FAILS(foltr_device_dismiss(device, list), FOLTR_CLOSED, "has ended");
}

static void has_status(foltr_device *device, const char *words) {
    char *text = NULL;
    WORKS(foltr_device_status(device, &text));
    CHECK(strstr(text, words) != NULL);
    foltr_string_free(text);
}

static void owners(foltr_device *device) {
    foltr_synced synced;
    char *text = (char *)NAMES;
    has_status(device, "Ranks with its own model, learnt from 1 lists.");
    has_status(device, "On the disk:");
    WORKS(foltr_device_pause(device));
    has_status(device, "Paused");
    WORKS(foltr_device_resume(device));
    WORKS(foltr_device_sync(device, &synced));
    CHECK(synced.progress == FOLTR_ALONE && synced.seconds == 0 && synced.round == 0);
    WORKS(foltr_device_sync(device, NULL));
    WORKS(foltr_device_deletion_receipt(device, &text));
    CHECK(text == NULL);
    foltr_string_free(NULL);
    FAILS(foltr_device_status(device, NULL), FOLTR_ARGUMENT, "`text` is NULL");
    text = (char *)NAMES;
    FAILS(foltr_device_status(NULL, &text), FOLTR_ARGUMENT, "`device` is NULL");
    CHECK(text == NULL);
    FAILS(foltr_device_deletion_receipt(device, NULL), FOLTR_ARGUMENT, "`text` is NULL");
    FAILS(foltr_device_deletion_receipt(NULL, &text), FOLTR_ARGUMENT, "`device` is NULL");
    FAILS(foltr_device_resume(NULL), FOLTR_ARGUMENT, "`device` is NULL");
    FAILS(foltr_device_sync(NULL, &synced), FOLTR_ARGUMENT, "`device` is NULL");
    FAILS(foltr_device_forget(NULL, &synced), FOLTR_ARGUMENT, "`device` is NULL");
}

static void federations(foltr_device *device, const char *port) {
    const char *digits = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const int32_t consent = FOLTR_PROTECTED_MESSAGES;
    char invitation[300];
    foltr_synced synced;
    snprintf(invitation, sizeof invitation, "http://127.0.0.1:%s/v1/federations/wards#%s.%s", port, digits, digits);
    FAILS(foltr_device_join(NULL, invitation, consent, NULL), FOLTR_ARGUMENT, "`device` is NULL");
    FAILS(foltr_device_join(device, NULL, consent, NULL), FOLTR_ARGUMENT, "`invitation` is NULL");
    FAILS(foltr_device_join(device, "\xff", consent, NULL), FOLTR_ARGUMENT, "`invitation` is not UTF-8");
    FAILS(foltr_device_join(device, "hello", consent, NULL), FOLTR_ARGUMENT, "this is no invitation");
    FAILS(foltr_device_join(device, invitation, 3, NULL), FOLTR_ARGUMENT, "`consent` is 3");
    FAILS(foltr_device_join(device, invitation, consent, &synced), FOLTR_NETWORK, "the server was not reached");
    has_status(device, "Not a member yet.");
    WORKS(foltr_device_sync(device, &synced));
    CHECK(synced.progress == FOLTR_LATER && synced.seconds > 0);
    WORKS(foltr_device_pause(device));
    WORKS(foltr_device_sync(device, &synced));
    CHECK(synced.progress == FOLTR_PAUSED && synced.seconds == 0);
    WORKS(foltr_device_resume(device));
    WORKS(foltr_device_forget(device, &synced));
    has_status(device, "learnt from 0 lists");
}

static void *rank_often(void *device) {
    size_t order[2];
    uint64_t list;
    for (int n = 0; n < 50; n++) {
        WORKS(foltr_device_rank(device, DOCUMENTS, 2, order, &list, NULL));
        WORKS(foltr_device_clicked(device, list, 0));
        WORKS(foltr_device_dismiss(device, list));
        FAILS(foltr_device_dismiss(device, list), FOLTR_CLOSED, "has ended");
    }
    return NULL;
}

static void threads(foltr_device *device) {
    pthread_t other;
    CHECK(pthread_create(&other, NULL, rank_often, device) == 0);
    rank_often(device);
    CHECK(pthread_join(other, NULL) == 0);
    has_status(device, "learnt from 100 lists");
}

static void reading_only(const char *folder) {
    foltr_options options = named_options();
    foltr_device *device;
    size_t order[2];
    uint64_t list;
    WORKS(foltr_device_open_read_only(folder, &options, &device));
    WORKS(foltr_device_rank(device, DOCUMENTS, 2, order, &list, NULL));
    FAILS(foltr_device_clicked(device, list, 0), FOLTR_STORE, "cannot be written to");
    WORKS(foltr_device_close(device));
}

int main(int argc, char **argv) {
    foltr_options options = named_options();
    foltr_device *device;
    CHECK(argc == 4);
    CHECK(strchr(foltr_version(), '.') != NULL);
    opening(argv[1]);
    wrong_options(argv[2]);
    WORKS(foltr_device_open(argv[1], &options, &device));
    lists(device);
    owners(device);
    federations(device, argv[3]);
    threads(device);
    WORKS(foltr_device_close(device));
    reading_only(argv[1]);
    puts("all is well");
    return 0;
}
