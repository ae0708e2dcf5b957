"""Serves campanile.rpc.v1.EchoService: `python3 echo_server.py [PORT [strict|plain]]` prints the port.

It drains on SIGTERM. `plain` is the server of peer.py, for clients that follow the protocol.
"""

import asyncio
import signal
import sys

from peer import STATUSES, RPCError, Server
from strict_server import INT32_MAX, StrictServer, field_error, is_integer, streams

SERVICE = "campanile.rpc.v1.EchoService"


def text(request, field, code=-32602):
    value = request.get(field)
    if value is not None and not isinstance(value, str):
        raise field_error("WRONG_TYPE", field, "expected a string", code)
    return value or ""


def number(request, field, least=0, most=INT32_MAX):
    """Returns an integer of ProtoJSON, which is a number or digits in a string."""
    value = request.get(field) or 0
    try:
        value = int(value) if isinstance(value, str) or isinstance(value, float) and value.is_integer() else value
    except ValueError:
        pass
    if type(value) is not int:
        raise field_error("WRONG_TYPE", field, "expected an integer", -32602)
    if not is_integer(value, -INT32_MAX - 1, INT32_MAX):
        raise field_error("OUT_OF_RANGE", field, "expected an integer of 32 bits", -32602)
    if not least <= value <= most:
        raise RPCError("INVALID_ARGUMENT", "OUT_OF_RANGE", f"{field} must be {least} to {most}")
    return value


def message(**fields):
    """A message in ProtoJSON, which leaves out default values."""
    return {name: value for name, value in fields.items() if value}


async def echo(request, call):
    payload, delay_ms = text(request, "payload"), number(request, "delayMs", most=600_000)
    await asyncio.sleep(delay_ms / 1000)
    return message(payload=payload)


async def expand(request, call):
    payload, interval_ms = text(request, "payload"), number(request, "intervalMs")
    for index in range(number(request, "count", most=1_000_000)):
        if index:
            await asyncio.sleep(interval_ms / 1000)
        yield message(index=index, payload=payload)


async def collect(requests, call):
    count = size = 0
    async for request in requests:
        count, size = count + 1, size + len(text(request, "payload", 3).encode())
    return message(messageCount=count, payloadSizeBytes=str(size) if size else None)


async def chat(requests, call):
    index = 0
    async for request in requests:
        yield message(index=index, payload=text(request, "payload", 3))
        index += 1


async def fail(request, call):
    explanation, key = text(request, "message"), text(request, "key")
    code, times = number(request, "code", 1, 16), number(request, "times")
    executions[key] = count = executions.get(key, 0) + 1
    if times and count > times:
        return message(executionCount=count)
    raise RPCError(STATUSES[code], "FAILED_AS_ASKED", explanation, metadata={"executionCount": str(count)})


async def list_services(request, call):
    """Describes this server to `campanile call`, which needs to know the methods that stream."""
    services = {}
    for name, handler in HANDLERS.items():
        service, method = name.split("/")
        package, (client_streams, server_streams) = service.rpartition(".")[0], streams(handler)
        services.setdefault(service, []).append({
            "name": method, "requestType": f"{package}.{method}Request", "responseType": f"{package}.{method}Response",
            "clientStreaming": client_streams, "serverStreaming": server_streams})
    return {"services": [{"name": service, "methods": methods} for service, methods in services.items()]}


async def describe(request, call):
    raise RPCError("NOT_FOUND", "SERVICE_UNKNOWN", "this server has no descriptors")


async def check(request, call):
    if request.get("service") not in (None, "", SERVICE):
        raise RPCError("NOT_FOUND", "SERVICE_UNKNOWN", "this server has no such service")
    return {"status": "SERVING"}


async def watch(request, call):
    yield await check(request, call)
    await asyncio.Event().wait()  # The status does not change.


executions = {}
HANDLERS = {
    f"{SERVICE}/Echo": echo, f"{SERVICE}/Expand": expand, f"{SERVICE}/Collect": collect, f"{SERVICE}/Chat": chat, f"{SERVICE}/Fail": fail,
    "campanile.rpc.v1.ReflectionService/ListServices": list_services, "campanile.rpc.v1.ReflectionService/GetFileDescriptorSet": describe,
    "grpc.health.v1.Health/Check": check, "grpc.health.v1.Health/Watch": watch}


async def main(port="0", kind="strict"):
    server, stop = {"strict": StrictServer, "plain": Server}[kind](HANDLERS), asyncio.Event()
    print(await server.start(port=int(port)), flush=True)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await server.drain()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
