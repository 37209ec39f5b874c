"""Memory of this process."""

import re


def peak_megabytes():
    with open("/proc/self/status") as file:
        kibibytes = re.search(r"VmHWM:\s+(\d+)", file.read())[1]
    return round(1024 * int(kibibytes) / 1e6)
