// SPDX-License-Identifier: Apache-2.0

package filestore

// On is on, for the tests of package filestore_test.
var On = on
