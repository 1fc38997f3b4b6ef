/* Ranks three documents for somebody who always opens the newest one, and learns that. */
#include <stdio.h>
#include "foltr_device.h"

int main(int argc, char **argv) {
    /* Two numbers describe a document: how well it fits the query, and how new it is. */
    const float documents[3 * 2] = {0.9f, 0.1f, 0.5f, 0.5f, 0.2f, 0.9f};
    const size_t newest = 2;
    size_t order[3], position, n_first = 0;
    uint64_t list;
    foltr_device *device;
    foltr_options options = foltr_options_default(2);
    foltr_status status;
    options.learning_rate = 1; /* Fast, so that a few hundred visits are enough. */
    status = foltr_device_open(argc > 1 ? argv[1] : "device", &options, &device);

    for (int visit = 1; visit <= 300 && status == FOLTR_OK; visit++) {
        status = foltr_device_rank(device, documents, 3, order, &list, NULL);
        if (status != FOLTR_OK) break;
        for (position = 0; order[position] != newest; position++) {}
        n_first += visit > 200 && position == 0;
        status = foltr_device_clicked(device, list, position);
        if (status == FOLTR_OK) status = foltr_device_dismiss(device, list);
    }
    if (status != FOLTR_OK) {
        fprintf(stderr, "%s\n", foltr_last_error());
        return 1;
    }
    printf("The newest document came first in %u of the last 100 lists.\n", (unsigned)n_first);
    return foltr_device_close(device) == FOLTR_OK ? 0 : 1;
}
