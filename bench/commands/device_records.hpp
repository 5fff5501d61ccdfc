// The recorded measurements of devices, found by the devices' names.
#pragma once

#include <string>

#include "bench/measure/record.hpp"

namespace tcnum {

struct DeviceRecord {
  bench::Document document;
  std::string file;
  std::string in_place_of;  ///< this machine's GPU, of which there is no record; empty: none was looked for in vain
};

/// The record of a device: `asked` is a file, or part of the device's name. If it is empty: the record of this
/// machine's GPU, or the first one where there is none. Throws InputError, naming the devices that there are.
DeviceRecord find_device_record(const std::string& asked);

/// One line, without its end: the device, when it was measured, driver, clock and file.
std::string record_line(const DeviceRecord& record);

}  // namespace tcnum
