// onnxruntime sends usage data to its vendor unless this variable is set before it is loaded.
// Set it to 0 to allow telemetry.
process.env.ORT_DISABLE_TELEMETRY ??= "1";
