/* The foltr device: ranks documents, learns from clicks, and takes part in a federation if its owner wants that.
 *
 * Functions return FOLTR_OK or why they did nothing; foltr_last_error says it in words. All functions may be called from
 * several threads, which are served one after the other. Texts are UTF-8 and end with a 0. Pointers must not be NULL
 * unless it says so.
 *
 * Made of foltr-client-c/src by a test: change it there. */

#ifndef FOLTR_DEVICE_H
#define FOLTR_DEVICE_H

#include <stddef.h>
#include <stdint.h>

/// How a call ended. `foltr_last_error` says it in words.
typedef enum {
  FOLTR_OK = 0,
  /// An argument or an option is wrong: NULL, not UTF-8, out of range, a device that is not open, no invitation.
  FOLTR_ARGUMENT = 1,
  /// The list has ended: it was dismissed, or had no event for a long time.
  FOLTR_CLOSED = 2,
  /// No list with this number was shown.
  FOLTR_UNKNOWN = 3,
  /// The features of a document are not as the options say.
  FOLTR_FEATURES = 4,
  /// The folder cannot be used, or the disk is full or failed. A click that ends like this is not stored.
  FOLTR_STORE = 5,
  /// The folder is in use by another device.
  FOLTR_LOCKED = 6,
  /// The server was not reached or had no answer. Call `foltr_device_sync` later.
  FOLTR_NETWORK = 7,
  /// Something is wrong with the federation or its answers, or the device is in another one.
  FOLTR_FEDERATION = 8,
  /// The federation promises less than the owner wants. See `foltr_consent`.
  FOLTR_CONSENT = 9,
  /// A mistake in this library. Close the device and open it again; what was stored is safe.
  FOLTR_BROKEN = 10,
} foltr_status;

/// How far a device got with its federation.
typedef enum {
  /// There is no federation.
  FOLTR_ALONE = 0,
  FOLTR_PAUSED = 1,
  /// It is too early for the next attempt, by `seconds`.
  FOLTR_LATER = 2,
  /// The newest release is here, and nothing is to be sent.
  FOLTR_UP_TO_DATE = 3,
  /// A message was made, and is sent in `seconds` or later.
  FOLTR_WAITING = 4,
  /// The server has taken the message of `round`.
  FOLTR_CONTRIBUTED = 5,
  /// The server was asked to forget this device. Its receipt is still to come.
  FOLTR_FORGETTING_ASKED = 6,
  /// The receipt of having been forgotten is here.
  FOLTR_FORGOTTEN = 7,
  /// All is well, in a way that this interface has no word for.
  FOLTR_OTHER = 8,
  /// The server could not be asked to forget this device, and will be by `foltr_device_sync`.
  FOLTR_FORGETTING_LATER = 9,
} foltr_progress;

/// What the values of a feature are.
typedef enum {
  /// Any finite number.
  FOLTR_NUMBER = 0,
  /// A whole number from 0 on.
  FOLTR_COUNT = 1,
  /// 0 or 1.
  FOLTR_FLAG = 2,
} foltr_kind;

/// How features are scaled before the model reads them.
typedef enum {
  /// Not at all.
  FOLTR_NORMALISE_NONE = 0,
  /// Every feature to 0 ... 1 within each call of `foltr_device_rank`.
  FOLTR_NORMALISE_QUERY = 1,
} foltr_normalisation;

/// How little an owner is content with, from the strictest on.
typedef enum {
  /// What a message says about its sender must be bounded, whoever reads it.
  FOLTR_PROTECTED_MESSAGES = 0,
  /// The server may see every message, and promises something to everybody else.
  FOLTR_TRUSTED_SERVER = 1,
  /// Nothing is promised to anybody.
  FOLTR_NO_PROMISE = 2,
} foltr_consent;

/// An open device. It stays open until `foltr_device_close`.
typedef struct foltr_device foltr_device;

/// How a device works. `foltr_options_default` fills it; change what should be different.
///
/// What it points to is copied by `foltr_device_open`.
typedef struct {
  /// Numbers that describe a document. A folder is for one set of features, and so is a federation.
  size_t n_features;
  /// As many names in UTF-8, or NULL: then they are 1, 2, ...
  const char *const *names;
  /// As many values of `foltr_kind`, or NULL: then all are numbers.
  const int32_t *kinds;
  /// A value of `foltr_normalisation`.
  int32_t normalisation;
  /// Documents that the model ranks, 1 to 100. Those beyond stay in the app's order.
  size_t list_length;
  /// How fast a device learns that is in no federation.
  double learning_rate;
  /// Whether releases that rank worse for this person are refused; 0 if all are adopted.
  int32_t adoption;
  /// Messages wait for a random time of at most so many seconds.
  uint64_t upload_delay;
  /// Such as `http://proxy.example.org:3128`; NULL for none, whatever the environment says.
  const char *proxy;
  /// Certificates of one's own authority, in PEM form, in place of the public ones; or NULL.
  const uint8_t *certificate_authority;
  /// Its bytes.
  size_t certificate_authority_length;
} foltr_options;

/// What `foltr_device_join`, `foltr_device_sync` and `foltr_device_forget` found out.
typedef struct {
  foltr_progress progress;
  /// 0 if the progress has no number of seconds.
  uint64_t seconds;
  /// 0 if the progress has no round.
  uint32_t round;
} foltr_synced;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// The version of this library.
const char *foltr_version(void);

/// Why the last call of this thread that returned a status failed; empty if it did not. Valid until its next call.
const char *foltr_last_error(void);

/// Frees a text that a function has given. NULL is ignored.
void foltr_string_free(char *text);

/// Options of a device whose documents are described by so many numbers.
foltr_options foltr_options_default(size_t n_features);

/// Opens the device of a folder, or makes a new one. Needs no server. `device` is NULL if that fails.
foltr_status foltr_device_open(const char *folder, const foltr_options *options, foltr_device **device);

/// Ranks with the last good model of a folder that `foltr_device_open` cannot use (damaged, on a disk that cannot be
/// written to, or of a newer version), and changes nothing in it. Clicks are refused: they could not be stored.
foltr_status foltr_device_open_read_only(const char *folder, const foltr_options *options, foltr_device **device);

/// Closes a device. Calls of other threads that are under way end first; then the folder is free.
foltr_status foltr_device_close(foltr_device *device);

/// The order to show documents in.
///
/// `features` has `n_features` values of the first document, then those of the second, and so on. `order` has room for
/// `n_documents` numbers: the document to show first, counted from 0 as they came, then the second, and so on. The first
/// `n_ranked` of them were ranked by the model, and the others are as they came; it may be NULL. The list stays open for
/// clicks under the number `impression`.
foltr_status foltr_device_rank(const foltr_device *device,
                               const float *features,
                               size_t n_documents,
                               size_t *order,
                               uint64_t *impression,
                               size_t *n_ranked);

/// The person opened the document at this position of the shown order, counted from 0. May come late, in any order, more
/// than once and after a restart. When it returns, the click is durable. Clicks from `n_ranked` on and those of a paused
/// device are accepted and teach nothing.
foltr_status foltr_device_clicked(const foltr_device *device,
                                  uint64_t impression,
                                  size_t position);

/// The person is done with a list: it teaches now. Lists without events end by themselves after a while.
foltr_status foltr_device_dismiss(const foltr_device *device, uint64_t impression);

/// Takes part in a federation, if it promises what `consent` (a value of `foltr_consent`) asks for. If the server is not
/// reached, the invitation is stored, and `foltr_device_sync` goes on with it. `synced` may be NULL.
foltr_status foltr_device_join(const foltr_device *device,
                               const char *invitation,
                               int32_t consent,
                               foltr_synced *synced);

/// Does what is due: ends old lists, fetches a release, makes a message, sends it. Call it whenever work and network are
/// allowed; every few minutes is not too often. It may wait for the server; other threads can rank meanwhile. `synced` may
/// be NULL.
foltr_status foltr_device_sync(const foltr_device *device,
                               foltr_synced *synced);

/// From now on nothing is recorded, learnt or sent. Lists are ranked by the model as it is.
foltr_status foltr_device_pause(const foltr_device *device);

/// Ends a pause.
foltr_status foltr_device_resume(const foltr_device *device);

/// Deletes all that was learnt and recorded here; then asks the server to forget this device, now or as soon as it is
/// reached by `foltr_device_sync`. What was spent of the privacy budget stays written down. `synced` may be NULL.
foltr_status foltr_device_forget(const foltr_device *device, foltr_synced *synced);

/// What the device knows and stores, in words for its owner. Free the text by `foltr_string_free`.
foltr_status foltr_device_status(const foltr_device *device, char **text);

/// The server's receipt of having forgotten this device: JSON that `foltr receipt verify` reads; NULL if there is none.
/// Free the text by `foltr_string_free`.
foltr_status foltr_device_deletion_receipt(const foltr_device *device, char **text);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FOLTR_DEVICE_H */
