from aiohttp import web


async def serve(engine, port):
    app = web.Application()
    app["engine"] = engine
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", port).start()
